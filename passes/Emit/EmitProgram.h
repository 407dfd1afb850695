//===- EmitProgram.h - Emit the commands of a program -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_EMITPROGRAM_H
#define LOCKSTEP_PASSES_EMIT_EMITPROGRAM_H

#include "dialect/Device/DeviceDialect.h"
#include "runtime/schema/artifact_generated.h"

#include "llvm/ADT/StringMap.h"

namespace lockstep {

/// The tables of an artifact while it is written, and the indices of entries
/// that are referenced.
struct EmitContext {
  explicit EmitContext(artifact::ArtifactT &tables) : tables(tables) {}

  /// The index of the line of the user's program at `loc`, which is added if it
  /// is new.
  uint32_t getLocation(mlir::Location loc);

  artifact::ArtifactT &tables;
  /// The indices of entries, by their symbols.
  llvm::StringMap<uint32_t> kernels, groups, roles;

private:
  llvm::StringMap<uint32_t> locations;
};

struct EmittedProgram {
  std::unique_ptr<artifact::ProgramT> table;
  /// The location of each command.
  std::vector<mlir::Location> commandLocations;
};

/// The table of `op`. The kernels and groups that it names must be in
/// `context`. Fails for operations that an artifact does not support.
llvm::FailureOr<EmittedProgram> emitProgram(device::ProgramOp op,
                                            EmitContext &context);

} // namespace lockstep

#endif

//===- EmitProgram.h - The commands of a program ----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_EMITPROGRAM_H
#define LOCKSTEP_PASSES_EMIT_EMITPROGRAM_H

#include "dialect/Device/DeviceDialect.h"
#include "runtime/artifact/artifact_generated.h"

#include "llvm/ADT/StringMap.h"

namespace lockstep {

/// The tables of an artifact while it is written, and where in them is what
/// others refer to.
struct EmitContext {
  explicit EmitContext(artifact::ArtifactT &tables) : tables(tables) {}

  /// The index of the user's line that `loc` stands for; a line that is not
  /// there yet is added.
  uint32_t getLocation(mlir::Location loc);

  artifact::ArtifactT &tables;
  /// The indices of what has a symbol.
  llvm::StringMap<uint32_t> kernels, groups, roles;

private:
  llvm::StringMap<uint32_t> locations;
};

struct EmittedProgram {
  std::unique_ptr<artifact::ProgramT> table;
  /// Where the operation of each command is.
  std::vector<mlir::Location> commandLocations;
};

/// The table of `op`. The kernels and groups that it names must be in
/// `context`; an error for what has no place in an artifact.
llvm::FailureOr<EmittedProgram> emitProgram(device::ProgramOp op,
                                            EmitContext &context);

} // namespace lockstep

#endif

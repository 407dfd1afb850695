//===- EmitArtifact.h - Device IR to artifact -------------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_EMITARTIFACT_H
#define LOCKSTEP_PASSES_EMIT_EMITARTIFACT_H

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/raw_ostream.h"

namespace lockstep {

/// The attribute of a module of device IR that holds its replica count.
inline constexpr llvm::StringLiteral kReplicasAttr = "device.replicas";

/// The replica count of a module: its attribute, or else that of its strategy.
/// An error if there is neither.
llvm::FailureOr<int64_t> getReplicas(mlir::ModuleOp module);

/// Writes `module`, which holds device IR, as an artifact. The same module
/// gives the same bytes on every machine. Errors are emitted at the operation
/// that has no place in an artifact.
///
/// Programs whose ranks do not provably end are an error, unless
/// `allowUnproven`, for tools that show why.
llvm::LogicalResult emitArtifact(mlir::ModuleOp module, llvm::raw_ostream &os,
                                 bool allowUnproven = false);

} // namespace lockstep

#endif

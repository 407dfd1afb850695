//===- EmitArtifact.h - Emit device IR as an artifact -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_EMITARTIFACT_H
#define LOCKSTEP_PASSES_EMIT_EMITARTIFACT_H

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/raw_ostream.h"

namespace lockstep {

/// The attribute of a module of device IR for its replica count.
inline constexpr llvm::StringLiteral kReplicasAttr = "device.replicas";

/// The replica count of a module: its attribute, or else that of its strategy.
/// An error if there is neither.
llvm::FailureOr<int64_t> getReplicas(mlir::ModuleOp module);

/// Writes `module`, which contains device IR, as an artifact. The same module
/// results in the same bytes on every machine. Errors are emitted at operations
/// that an artifact does not support.
///
/// A program whose ranks do not provably terminate is an error, unless
/// `allowUnproven`, for tools that show the reason.
llvm::LogicalResult emitArtifact(mlir::ModuleOp module, llvm::raw_ostream &os,
                                 bool allowUnproven = false);

} // namespace lockstep

#endif

//===- ImportArtifact.h - Artifact to device IR -----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_IMPORTARTIFACT_H
#define LOCKSTEP_PASSES_EMIT_IMPORTARTIFACT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace lockstep {

/// Reads the artifact in `bytes` back to device IR: the module that
/// `emitArtifact` wrote, as the pass `seal-module` leaves it, with the lines of
/// the user's program as locations. Errors, first of all those of the
/// artifact's own verification, are emitted at `location`.
mlir::OwningOpRef<mlir::ModuleOp> importArtifact(llvm::StringRef bytes,
                                                 mlir::Location location);

} // namespace lockstep

#endif

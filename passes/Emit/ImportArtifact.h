//===- ImportArtifact.h - Import an artifact as device IR -------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_IMPORTARTIFACT_H
#define LOCKSTEP_PASSES_EMIT_IMPORTARTIFACT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace lockstep {

/// Imports the artifact in `bytes` as device IR: the module that `emitArtifact`
/// wrote, in the form that the pass `seal-module` produces, with the lines of
/// the user's program as locations. Errors, including those of the artifact's
/// own verification, are emitted at `location`.
mlir::OwningOpRef<mlir::ModuleOp> importArtifact(llvm::StringRef bytes,
                                                 mlir::Location location);

} // namespace lockstep

#endif

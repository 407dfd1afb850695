//===- InterchangeBranch.h - Interchange of a branch ------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_INTERCHANGEBRANCH_H
#define LOCKSTEP_PASSES_LOWER_INTERCHANGEBRANCH_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace lockstep {

/// Whether two loops have the same bounds, or two branches the same condition,
/// so that all replicas take the same path through either of them.
bool haveSameControl(mlir::Operation *left, mlir::Operation *right);

/// Merges two loops or branches for which `haveSameControl` holds, at the
/// beginnings of the two sides of `branch`, into one before `branch`, with a
/// branch on the condition of `branch` inside. All values that the two capture
/// must be defined before `branch`. Returns the new branches on this condition.
llvm::SmallVector<mlir::scf::IfOp> interchangeBranch(mlir::scf::IfOp branch,
                                                     mlir::Operation *left,
                                                     mlir::Operation *right);

/// A placeholder of type `type`, for a side that has no value for a result, and
/// does not read it.
mlir::Value createPlaceholder(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Type type);

} // namespace lockstep

#endif

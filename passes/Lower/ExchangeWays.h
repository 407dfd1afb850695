//===- ExchangeWays.h - Loops around a branch instead of inside -*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_EXCHANGEWAYS_H
#define LOCKSTEP_PASSES_LOWER_EXCHANGEWAYS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace lockstep {

/// Whether two loops, or two branches, are ones that replicas go through alike,
/// whichever of them they come to.
bool isSameWay(mlir::Operation *left, mlir::Operation *right);

/// Makes of two loops or branches that are the `isSameWay`, at the beginnings
/// of the two sides of `branch`, one before it, with a branch on the same
/// condition inside. All that the two use from outside of them is defined
/// before `branch`. Returns the new branches.
llvm::SmallVector<mlir::scf::IfOp> exchangeWays(mlir::scf::IfOp branch,
                                                mlir::Operation *left,
                                                mlir::Operation *right);

/// Something of type `type`, for a side that does not have a value, and does
/// not read it.
mlir::Value createUnread(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type type);

} // namespace lockstep

#endif

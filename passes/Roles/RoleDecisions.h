//===- RoleDecisions.h - Where roles go together ----------------*- C++ -*-===//
//
// Workers and servers compute the conditions of what they go through together
// each for itself, where what they are computed from is known to everyone:
// constants, host scalars, what has been given. They go the same way if
// operations that give the same bits everywhere lead there. What else is on the
// way, as a sum or the result of a loop, which not all go through in the same
// way, one role computes and gives to the others.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_ROLES_ROLEDECISIONS_H
#define LOCKSTEP_PASSES_ROLES_ROLEDECISIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep {

class RoleHomes;

/// The values that decide where control flow goes.
llvm::SmallVector<mlir::Value> getDecisions(mlir::Operation *op);

/// Makes tensors of the numbers that loops of `step` end with, and branches
/// with collectives, and numbers of these: so they can be given.
void wrapNumbers(mlir::func::FuncOp step);

/// The tensors that everyone would compute, but perhaps not alike, and on which
/// it depends where several roles go.
llvm::SmallVector<mlir::Value> findUnlikeDecisions(mlir::func::FuncOp step,
                                                   const RoleHomes &homes);

} // namespace lockstep

#endif

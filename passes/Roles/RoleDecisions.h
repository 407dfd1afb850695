//===- RoleDecisions.h - Conditions shared by several roles -----*- C++ -*-===//
//
// Roles that execute a loop or branch together have to take the same path. A
// constant or host scalar, which all roles have, is used directly. Any other
// condition or bound is computed by one role, and sent in one broadcast to all
// roles that execute control flow which depends on it; each of them, including
// the sender, tests the received value.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_ROLES_ROLEDECISIONS_H
#define LOCKSTEP_PASSES_ROLES_ROLEDECISIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace lockstep {

/// The values that control `op`: bounds and steps of loops, conditions.
llvm::SmallVector<mlir::Value> getDecisions(mlir::Operation *op);

/// Stores each value that controls control flow in `step`, except for those
/// that all roles have, in a tensor of rank 0, and replaces its uses as a
/// condition or bound by an extract. Returns these tensors, which can be sent.
llvm::SetVector<mlir::Value> wrapDecisions(mlir::func::FuncOp step);

} // namespace lockstep

#endif

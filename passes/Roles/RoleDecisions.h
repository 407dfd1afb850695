//===- RoleDecisions.h - What decides control flow of several roles -------===//
//
// Roles that execute a loop or branch together have to decide alike. What all
// of them have anyway, a constant or a host scalar, decides directly. Anything
// else is computed in one place, and sent in one broadcast to all roles that
// execute something which it decides; each of them, the sender included, tests
// what the broadcast has brought.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_ROLES_ROLEDECISIONS_H
#define LOCKSTEP_PASSES_ROLES_ROLEDECISIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace lockstep {

/// The values that decide where control flow goes.
llvm::SmallVector<mlir::Value> getDecisions(mlir::Operation *op);

/// Puts each value that decides control flow in `step`, and does not do so
/// directly, into a tensor of one number, from which it is taken again where it
/// decides. Returns these tensors, which can be sent.
llvm::SetVector<mlir::Value> wrapDecisions(mlir::func::FuncOp step);

} // namespace lockstep

#endif

//===- DivideStep.h - Rewrites a step to parts of variables -----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_SIMPLIFY_DIVIDESTEP_H
#define LOCKSTEP_PASSES_SIMPLIFY_DIVIDESTEP_H

#include "passes/Simplify/DividedUpdates.h"

namespace lockstep {

/// The type of each replica's part of a tensor: consecutive elements, equally
/// many for each replica. Where they do not divide the elements, the parts are
/// those of the tensor with zeros behind its last element.
mlir::RankedTensorType getPartType(mlir::Type type, int64_t replicas);

/// Rewrites a step as `updates` has found: the arguments and results of the
/// variables for which `isDivided` holds become parts. `group` is that of all
/// replicas.
void divideStep(const DividedUpdates &updates, int64_t replicas,
                mlir::FlatSymbolRefAttr group,
                llvm::function_ref<bool(mlir::StringAttr)> isDivided);

/// Makes one collective of the gathers of all pieces of a variable that a step
/// concatenates, if the variable, which is divided, has been split.
void joinPieces(mlir::func::FuncOp function);

} // namespace lockstep

#endif

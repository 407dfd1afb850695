//===- InPlaceResults.h - In-place results of kernels -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_INPLACERESULTS_H
#define LOCKSTEP_PASSES_KERNELS_INPLACERESULTS_H

#include "dialect/Device/DeviceDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace lockstep {

/// The values of variables before a step.
class OldValues {
public:
  explicit OldValues(mlir::func::FuncOp step);

  /// The old value of the variable whose new value is `value`, perhaps on one
  /// side of a branch; null if there is no such variable.
  mlir::Value find(mlir::Value value);

private:
  mlir::Value find(mlir::Value value,
                   llvm::SmallDenseSet<mlir::Value> &visited);

  mlir::func::FuncOp step;
  /// Arguments of the step, by the names of the variables.
  llvm::StringMap<mlir::BlockArgument> arguments;
};

/// Annotates which results of `kernel`, which computes `outputs` of a step from
/// `arguments`, may be computed in place, in the memory of an argument. That is
/// possible if element-wise operations compute the result after all reads of
/// the same elements, or one loop carries the argument. The old value of a
/// variable is preferred for its new value. Code generation revokes the
/// annotation if other operations of the kernel write to the result before.
void annotateInPlace(device::KernelOp kernel, OldValues &oldValues,
                     llvm::ArrayRef<mlir::Value> arguments,
                     llvm::ArrayRef<mlir::Value> outputs);

} // namespace lockstep

#endif // LOCKSTEP_PASSES_KERNELS_INPLACERESULTS_H

//===- TakeOver.h - Results in the memory of arguments ----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_TAKEOVER_H
#define LOCKSTEP_PASSES_KERNELS_TAKEOVER_H

#include "dialect/Device/DeviceDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace lockstep {

/// What the variables of a step hold before it.
class OldValues {
public:
  explicit OldValues(mlir::func::FuncOp step);

  /// What the variable holds before the step that holds `value` after it; null
  /// if `value` is not one's new value.
  mlir::Value find(mlir::Value value);

private:
  mlir::func::FuncOp step;
  /// By the names of the variables.
  llvm::StringMap<mlir::BlockArgument> arguments;
};

/// Says which results of `kernel`, which computes `outputs` of a step from
/// `arguments`, take over the memory of which arguments. A result may take over
/// that of an argument that only one element-wise operation reads, at the
/// positions at which it writes: first of all a variable's new value that of
/// the old one. Code generation withdraws that where other operations of the
/// kernel write to the result before.
void takeOverArguments(device::KernelOp kernel, OldValues &oldValues,
                       llvm::ArrayRef<mlir::Value> arguments,
                       llvm::ArrayRef<mlir::Value> outputs);

} // namespace lockstep

#endif // LOCKSTEP_PASSES_KERNELS_TAKEOVER_H

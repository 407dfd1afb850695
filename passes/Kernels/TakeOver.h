//===- TakeOver.h - Results in the memory of arguments ----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_TAKEOVER_H
#define LOCKSTEP_PASSES_KERNELS_TAKEOVER_H

#include "dialect/Device/DeviceDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep {

/// What the variable holds before `step` that holds `value` after it; null if `value` is not one's new value.
mlir::Value getOldValue(mlir::func::FuncOp step, mlir::Value value);

/// Says which results of `kernel`, which computes `outputs` of `step` from `arguments`, take over the memory of which arguments. A result
/// may take over that of an argument that only one element-wise operation reads, at the positions at which it writes: first of all a
/// variable's new value that of the old one. Code generation withdraws that where other operations of the kernel write to the result
/// before.
void takeOverArguments(device::KernelOp kernel, mlir::func::FuncOp step, llvm::ArrayRef<mlir::Value> arguments,
                       llvm::ArrayRef<mlir::Value> outputs);

} // namespace lockstep

#endif // LOCKSTEP_PASSES_KERNELS_TAKEOVER_H

//===- Remainders.h - Remainders of floats on GPUs --------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_REMAINDERS_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_REMAINDERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep {

/// Replaces each `arith.remf` on scalars by integer arithmetic that is exact.
/// LLVM's code for GPUs divides and multiplies, which is not.
void expandRemainders(mlir::func::FuncOp function);

} // namespace lockstep

#endif

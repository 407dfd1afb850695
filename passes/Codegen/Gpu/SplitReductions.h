//===- SplitReductions.h - Long reductions with few results -----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_SPLITREDUCTIONS_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_SPLITREDUCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep {

/// Divides reductions that would occupy few multiprocessors for a long time,
/// such as the sum of a tensor, or its sums over all but the last of few
/// channels: parts of the operands are reduced to working memory first, and
/// these partial results to the result, both in a fixed order. The outermost
/// dimensions of the operands are the parts, or equal parts of one of them.
void splitReductions(mlir::func::FuncOp function);

} // namespace lockstep

#endif

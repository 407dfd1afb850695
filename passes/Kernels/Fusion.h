//===- Fusion.h - What stage kernels fuses beside producers and consumers -*-
// C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_FUSION_H
#define LOCKSTEP_PASSES_KERNELS_FUSION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep {

/// Products whose result is only read transposed compute it transposed:
/// gradients of weights come so out of reverse mode, and reading them against
/// the order of memory costs more than the product itself.
void foldTransposesIntoProducts(mlir::func::FuncOp function);

/// Fuses the element-wise users of each product, if they depend on nothing that
/// comes between them.
void fuseEpilogues(mlir::func::FuncOp function);

/// Fuses element-wise operations of one shape that read the same values side by
/// side: an optimizer's new moments and weights go over memory once. Uniform
/// and varying results stay apart.
void fuseSiblings(mlir::func::FuncOp function);

} // namespace lockstep

#endif

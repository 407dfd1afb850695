//===- PadProducts.h - Aligned rows for a library's products ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_PADPRODUCTS_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_PADPRODUCTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep {

/// Gives large products on tensor cores matrices whose rows in memory are
/// multiples of eight elements: a library has much slower code for others.
/// Factors are copied to working memory, with zeros behind each row, and
/// results are computed there.
///
/// With `tf32`, factors of f32 are multiplied on tensor cores, too.
void padProducts(mlir::func::FuncOp function, bool tf32);

} // namespace lockstep

#endif

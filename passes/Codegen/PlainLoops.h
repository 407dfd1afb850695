//===- PlainLoops.h - Lower to scalar loops ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_PLAINLOOPS_H
#define LOCKSTEP_PASSES_CODEGEN_PLAINLOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lockstep {

/// Converts every structured operation to a nest of loops over scalars. This
/// works for all of them.
llvm::LogicalResult lowerToPlainLoops(mlir::func::FuncOp function);

/// Removes all fast-math flags, so that later stages cannot change rounding.
void fixRounding(mlir::func::FuncOp function);

/// Converts `c + a * b` in a reduction of f32 or f64 to a fused multiply-add,
/// so that all code generators round it once.
void formMultiplyAdds(mlir::linalg::GenericOp op);

} // namespace lockstep

#endif

//===- Shapes.h - All replicas bring the same shapes ------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_VERIFY_SHAPES_H
#define LOCKSTEP_PASSES_VERIFY_SHAPES_H

#include "passes/Verify/Uniformity.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace lockstep {

/// True if the size of dimension `dimension` of `tensor` is equal on all replicas, as far as that can be seen: it is static, the
/// whole tensor is uniform, or the operation that makes the tensor takes the size from such a place.
bool hasUniformSize(mlir::Value tensor, int64_t dimension, const UniformityAnalysis &uniformity);

/// Checks the operands of all collectives in `function`: their sizes must be equal on all replicas, except along the axis of a
/// gather. Emits [E_SHAPE_MISMATCH] where that is not proven.
llvm::LogicalResult verifyCollectiveShapes(mlir::FunctionOpInterface function, const UniformityAnalysis &uniformity);

} // namespace lockstep

#endif

//===- Elementwise.h - Builds element-wise operations -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_ELEMENTWISE_H
#define LOCKSTEP_PASSES_LOWER_ELEMENTWISE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace lockstep {

/// A `linalg.generic` that computes each element of a tensor of type `type` by
/// `body` from the elements of `inputs` at the same position. The inputs have
/// the shape of `type`; dynamic sizes are those of the first input. With
/// `maps`, one for each input, `type` is static, and the elements are those at
/// the positions that they give.
mlir::Value createElementwise(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type,
    mlir::ValueRange inputs,
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)> body,
    llvm::ArrayRef<mlir::AffineMap> maps = {});

} // namespace lockstep

#endif

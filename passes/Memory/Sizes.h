//===- Sizes.h - How large the tensors of a step are ------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_SIZES_H
#define LOCKSTEP_PASSES_MEMORY_SIZES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace lockstep {

/// Bytes of a tensor of static shape in row-major order; i1 takes a byte.
int64_t getByteSize(mlir::RankedTensorType type);

/// The most bytes that a tensor of a step can have.
int64_t getByteSize(mlir::Value tensor);

/// The sizes of its dynamic dimensions, in order, of type `index`.
llvm::SmallVector<mlir::OpFoldResult> getDynamicSizes(mlir::Value tensor);

/// Whether `op` gives another shape to the same bytes.
bool isView(mlir::Operation *op);

/// Whether the step says how large `tensor` is and can become.
bool hasKnownSizes(mlir::Value tensor);

} // namespace lockstep

#endif

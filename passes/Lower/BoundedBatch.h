//===- BoundedBatch.h - Batches in memory of their largest size -*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_BOUNDEDBATCH_H
#define LOCKSTEP_PASSES_LOWER_BOUNDEDBATCH_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace lockstep {

/// The dimensions of a batch tensor that fill a part of memory of the largest
/// size: dynamic ones, and those without elements, of which memory has one,
/// because nothing can be a slice of nothing.
llvm::SmallVector<int64_t> getPartialDims(mlir::RankedTensorType type);

/// The type of memory for a tensor of type `type`, whose dynamic dimensions are
/// at most `bounds`, in order.
mlir::RankedTensorType getBoundedType(mlir::RankedTensorType type,
                                      llvm::ArrayRef<int64_t> bounds);

/// The part of `whole`, memory of the largest size, that a tensor of type
/// `type` fills. `sizes` are scalar i64 tensors, one for each partial
/// dimension.
mlir::Value takeBatch(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::RankedTensorType type, mlir::Value whole,
                      mlir::ValueRange sizes);

} // namespace lockstep

#endif

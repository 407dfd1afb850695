//===- BoundedBatch.h - Batches in memory of their largest size -*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_BOUNDEDBATCH_H
#define LOCKSTEP_PASSES_LOWER_BOUNDEDBATCH_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace lockstep {

/// The dimensions in which a batch tensor may be smaller than its memory:
/// dynamic ones, and those of size 0, for which memory has size 1, because a
/// slice of an empty tensor is invalid.
llvm::SmallVector<int64_t> getPartialDims(mlir::RankedTensorType type);

/// The type of memory for a tensor of type `type`, whose dynamic dimensions are
/// at most `bounds`, in order.
mlir::RankedTensorType getBoundedType(mlir::RankedTensorType type,
                                      llvm::ArrayRef<int64_t> bounds);

/// The slice of `whole`, a tensor of the largest size, that a batch of type
/// `type` fills. `sizes` are scalar i64 tensors, one for each partial
/// dimension.
mlir::Value takeBatch(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::RankedTensorType type, mlir::Value whole,
                      mlir::ValueRange sizes);

} // namespace lockstep

#endif

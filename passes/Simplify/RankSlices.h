//===- RankSlices.h - Collectives of each rank's own rows -------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_SIMPLIFY_RANKSLICES_H
#define LOCKSTEP_PASSES_SIMPLIFY_RANKSLICES_H

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Analysis/RankConstants.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace lockstep {

/// The wait of a collective.
collective::WaitOp waitOf(collective::StartOp start);

/// Erases a collective whose results have no uses.
void eraseWithWait(collective::StartOp start);

/// Whether `slice` takes, on rank r of all `ranks`, the r-th of as many equal
/// parts of the rows of its source.
bool isSliceOfRank(mlir::tensor::ExtractSliceOp slice,
                   const RankConstants &constants, int64_t ranks);

/// The slices of each rank's own rows that use the results of an all_reduce
/// with one operand, if nothing else uses them; else empty.
llvm::SmallVector<mlir::tensor::ExtractSliceOp>
findSlicesOfRank(collective::StartOp start, const RankConstants &constants,
                 int64_t ranks);

/// Replaces an all_reduce, and the slices that `findSlicesOfRank` has found, by
/// a reduce_scatter. Returns its result, which differs between ranks.
mlir::Value
scatterReduction(collective::StartOp start,
                 llvm::ArrayRef<mlir::tensor::ExtractSliceOp> slices);

/// The reduce_scatter of which `gather` collects all parts in their order, if
/// nothing else uses them; else null.
collective::StartOp findGatheredScatter(collective::StartOp gather);

/// Replaces a reduce_scatter and the gather of its result by an all_reduce.
/// Returns its result.
mlir::Value reduceForAll(collective::StartOp scatter,
                         collective::StartOp gather);

} // namespace lockstep

#endif

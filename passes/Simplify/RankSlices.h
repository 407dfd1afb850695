//===- RankSlices.h - Collectives of each rank's own rows -------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_SIMPLIFY_RANKSLICES_H
#define LOCKSTEP_PASSES_SIMPLIFY_RANKSLICES_H

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Analysis/RankConstants.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace lockstep {

/// The wait of a collective.
collective::WaitOp waitOf(collective::StartOp start);

/// Creates a collective at `atStart` and its wait at `atWait`; returns the
/// results. Its axis is the first, if the kind has one.
mlir::ResultRange
createExchange(mlir::OpBuilder &atStart, mlir::OpBuilder &atWait,
               mlir::Location loc, collective::Kind kind,
               collective::ReductionAttr reduction,
               mlir::FlatSymbolRefAttr group, mlir::ValueRange operands,
               mlir::TypeRange results, mlir::IntegerAttr bytesPerPack);

/// Erases a collective whose results have no uses.
void eraseWithWait(collective::StartOp start);

/// Whether `slice` takes, on rank r of all `ranks`, the r-th of as many equal
/// parts of the rows of its source.
bool isSliceOfRank(mlir::tensor::ExtractSliceOp slice,
                   const RankConstants &constants, int64_t ranks);

/// What uses the result of an all_reduce, if each rank uses its own rows only.
struct OwnRows {
  /// Element-wise operations on the result and on constants, each of which is
  /// the only user of the one before: the division of a mean, a cast.
  llvm::SmallVector<mlir::Operation *> elementwise;
  /// Slices of the last one, or of the result; empty if the rows of other ranks
  /// are used, too.
  llvm::SmallVector<mlir::tensor::ExtractSliceOp> slices;
};

/// What uses the result of `start`. No slices are found if it is not an
/// all_reduce with one operand.
OwnRows findOwnRows(collective::StartOp start, const RankConstants &constants,
                    int64_t ranks);

/// Replaces an all_reduce by a reduce_scatter, and `users`, which
/// `findOwnRows` has found, by the same operations on the rows of each rank.
/// Returns the new values, which differ between ranks.
llvm::SmallVector<mlir::Value> scatterReduction(collective::StartOp start,
                                                const OwnRows &users);

/// The reduce_scatter of which `gather` collects all parts in their order, if
/// nothing else uses them; else null.
collective::StartOp findGatheredScatter(collective::StartOp gather);

/// Replaces a reduce_scatter and the gather of its result by an all_reduce.
/// Returns its result.
mlir::Value reduceForAll(collective::StartOp scatter,
                         collective::StartOp gather);

} // namespace lockstep

#endif

//===- ShardUpdates.cpp - Updates of a variable shard by shard ------------===//
//
// The new values of shards are first computed as a whole and then sliced. This
// pass hoists the slices through the computation of the new value, so that
// every server computes its own rows, and receives only the rows of gradients
// that it needs.
//
//===----------------------------------------------------------------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Passes.h"
#include "passes/Roles/RolePlacement.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SHARDUPDATESPASS
#include "passes/Passes.h.inc"

namespace {

struct ShardUpdates : impl::ShardUpdatesPassBase<ShardUpdates> {
  using ShardUpdatesPassBase::ShardUpdatesPassBase;

  /// Every round hoists all slices over one operation, which creates slices of
  /// its operands. Dead code is removed after each round, so that when only
  /// slices of sums are left, the remaining uses of a sum are real.
  void runOnOperation() override {
    dividedSums = 0;
    IRRewriter rewriter(&getContext());
    for (;;) {
      SmallVector<tensor::ExtractSliceOp> cuts, cutsOfSums;
      getOperation().walk([&](tensor::ExtractSliceOp slice) {
        if (slice->hasAttr(replica::kShardOfValue))
          (slice.getSource().getDefiningOp<collective::WaitOp>() ? cutsOfSums
                                                                 : cuts)
              .push_back(slice);
      });
      if (cuts.empty() && cutsOfSums.empty())
        return;
      for (tensor::ExtractSliceOp slice : cuts)
        moveUp(slice);
      if (cuts.empty())
        exchangeRows(cutsOfSums);
      (void)runRegionDCE(rewriter, getOperation()->getRegions());
    }
  }

private:
  void moveUp(tensor::ExtractSliceOp slice) {
    slice->removeAttr(replica::kShardOfValue);
    Operation *source = slice.getSource().getDefiningOp();
    if (!source || !slice.hasUnitStride() || !slice.getType().hasStaticShape())
      return;
    if (auto concat = dyn_cast<tensor::ConcatOp>(source))
      return takePiece(slice, concat);
    if (Value uniform = createUniform(source, slice))
      return slice.replaceAllUsesWith(uniform);
    // Only element-wise operations: gradients, which are products and
    // reductions, are computed as a whole.
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(source);
        linalgOp && linalgOp.getNumLoops() == linalgOp.getNumParallelLoops())
      computeRows(slice);
  }

  /// A tensor of the type of `slice` whose elements are all those of `source`,
  /// a tensor without values, a constant or a fill; null if it is none of
  /// these.
  static Value createUniform(Operation *source, tensor::ExtractSliceOp slice) {
    OpBuilder builder(slice);
    Location loc = slice.getLoc();
    RankedTensorType type = slice.getType();
    auto createEmpty = [&] {
      return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                     type.getElementType());
    };
    if (isa<tensor::EmptyOp>(source))
      return createEmpty();
    if (auto fill = dyn_cast<linalg::FillOp>(source))
      return linalg::FillOp::create(builder, loc, fill.getInputs(),
                                    ValueRange(createEmpty()))
          .getResult(0);
    DenseElementsAttr constant;
    if (matchPattern(source, m_Constant(&constant)) && constant.isSplat())
      return arith::ConstantOp::create(builder, loc,
                                       constant.resizeSplat(type));
    return nullptr;
  }

  /// A slice that is one of the concatenated pieces is replaced by it.
  void takePiece(tensor::ExtractSliceOp slice, tensor::ConcatOp concat) {
    int64_t first = 0, wanted = slice.getStaticOffset(concat.getDim());
    for (Value piece : concat.getInputs()) {
      if (first == wanted && piece.getType() == slice.getType())
        return slice.replaceAllUsesWith(piece);
      first +=
          cast<RankedTensorType>(piece.getType()).getDimSize(concat.getDim());
    }
  }

  /// Slices of a sum are sums of slices. If the whole sum has other uses, it is
  /// computed once, as a whole.
  void exchangeRows(ArrayRef<tensor::ExtractSliceOp> slices) {
    llvm::MapVector<collective::WaitOp, SmallVector<tensor::ExtractSliceOp>>
        exchanges;
    for (tensor::ExtractSliceOp slice : slices)
      exchanges[slice.getSource().getDefiningOp<collective::WaitOp>()]
          .push_back(slice);
    for (auto &[wait, cuts] : exchanges) {
      for (tensor::ExtractSliceOp cut : cuts)
        cut->removeAttr(replica::kShardOfValue);
      collective::StartOp start = wait.getStart();
      if (start.getKind() != collective::Kind::AllReduce ||
          start.getInputs().size() != 1 ||
          llvm::range_size(wait->getUsers()) != cuts.size())
        continue;
      // Rows that several updates need are exchanged once.
      ++dividedSums;
      llvm::MapVector<std::pair<ArrayRef<int64_t>, ArrayRef<int64_t>>, Value>
          exchanged;
      for (tensor::ExtractSliceOp cut : cuts) {
        Value &rows = exchanged[{cut.getStaticOffsets(), cut.getStaticSizes()}];
        if (!rows)
          rows = exchange(cut, start, wait);
        cut.replaceAllUsesWith(rows);
      }
      for (tensor::ExtractSliceOp cut : cuts)
        cut.erase();
      wait.erase();
      start.erase();
      if (!gradients)
        continue;
      SmallVector<tensor::ExtractSliceOp> rows;
      for (auto [i, entry] : llvm::enumerate(exchanged)) {
        collective::StartOp own =
            entry.second.getDefiningOp<collective::WaitOp>().getStart();
        rows.push_back(
            own.getInputs().front().getDefiningOp<tensor::ExtractSliceOp>());
        if (i + 2 >= exchanged.size())
          own->setAttr(collective::kLastPieceOf,
                       OpBuilder(own).getI64IntegerAttr(dividedSums));
      }
      computeInPieces(rows);
    }
  }

  /// Computes each of `slices`, of one value, by itself, if nothing else needs
  /// the value; and so on for the slices of its operands that this takes.
  void computeInPieces(ArrayRef<tensor::ExtractSliceOp> slices) {
    Value whole = tensor::ExtractSliceOp(slices.front()).getSource();
    Operation *source = whole.getDefiningOp();
    if (!source)
      return;
    // What has the same value everywhere is repeated.
    bool areUniform = false;
    for (tensor::ExtractSliceOp slice : slices)
      if (Value uniform = createUniform(source, slice)) {
        slice.replaceAllUsesWith(uniform);
        slice.erase();
        areUniform = true;
      }
    if (areUniform)
      return;
    if (!isa<linalg::LinalgOp>(source) || source->getNumResults() != 1 ||
        llvm::range_size(whole.getUses()) != slices.size())
      return;
    llvm::MapVector<Value, SmallVector<tensor::ExtractSliceOp>> ofOperands;
    for (tensor::ExtractSliceOp slice : slices) {
      OpBuilder builder(slice);
      FailureOr<TilingResult> rows =
          tensor::replaceExtractSliceWithTiledProducer(builder, slice,
                                                       cast<OpResult>(whole));
      if (failed(rows))
        return;
      slice.replaceAllUsesWith(rows->tiledValues.front());
      slice.erase();
      for (Operation *generated : rows->generatedSlices) {
        auto operand = dyn_cast<tensor::ExtractSliceOp>(generated);
        if (!operand)
          continue;
        if (operand.getType() == operand.getSourceType()) {
          operand.replaceAllUsesWith(operand.getSource());
          operand.erase();
        } else {
          ofOperands[operand.getSource()].push_back(operand);
        }
      }
    }
    source->erase();
    for (auto &[value, operands] : ofOperands)
      computeInPieces(operands);
  }

  Value exchange(tensor::ExtractSliceOp cut, collective::StartOp start,
                 collective::WaitOp wait) {
    OpBuilder builder(start);
    Value input = tensor::ExtractSliceOp::create(
        builder, cut.getLoc(), start.getInputs().front(), cut.getMixedOffsets(),
        cut.getMixedSizes(), cut.getMixedStrides());
    collective::StartOp own =
        createWithOperand(builder, start, input, cut.getType());
    builder.setInsertionPoint(wait);
    return collective::WaitOp::create(builder, wait.getLoc(), cut.getType(),
                                      own, input)
        .getResult(0);
  }

  /// Computes only the rows of `slice`, from the slices of the operands that
  /// they depend on.
  void computeRows(tensor::ExtractSliceOp slice) {
    OpBuilder builder(slice);
    FailureOr<TilingResult> rows = tensor::replaceExtractSliceWithTiledProducer(
        builder, slice, cast<OpResult>(slice.getSource()));
    if (failed(rows))
      return;
    slice.replaceAllUsesWith(rows->tiledValues.front());
    for (Operation *generated : rows->generatedSlices)
      if (isa<tensor::ExtractSliceOp>(generated))
        generated->setAttr(replica::kShardOfValue, builder.getUnitAttr());
  }

  /// The number of sums that have been divided.
  int64_t dividedSums = 0;
};

} // namespace
} // namespace lockstep

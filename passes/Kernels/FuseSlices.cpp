//===- FuseSlices.cpp - Read and write slices where they are used ---------===//

#include "passes/Kernels/Fusion.h"
#include "passes/Kernels/Structure.h"
#include "passes/Lower/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace lockstep;
using namespace mlir;

namespace {
/// A tensor whose elements are those of `source` at the indices that `map`
/// gives.
struct View {
  Value source;
  AffineMap map;
};
} // namespace

/// Whether a user of a tensor may be executed in its memory, and change it.
static bool isChanged(Value tensor) {
  return llvm::any_of(tensor.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    auto destination = dyn_cast<DestinationStyleOpInterface>(user);
    return isa<RegionBranchOpInterface>(user) ||
           (destination && destination.isDpsInit(&use));
  });
}

/// A reshape that adds or removes dimensions of size one, or a slice that has
/// one element of a dimension, or all of them.
static std::optional<View> matchView(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!type || !type.hasStaticShape() || !op)
    return std::nullopt;
  Builder builder(op->getContext());
  auto zero = builder.getAffineConstantExpr(0);
  SmallVector<AffineExpr> indices;
  Value source;
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    source = collapse.getSrc();
    auto dims = matchUnitDims(collapse.getSrcType(),
                              collapse.getReassociationIndices());
    if (!dims)
      return std::nullopt;
    for (std::optional<unsigned> dim : *dims)
      indices.push_back(dim ? builder.getAffineDimExpr(*dim) : zero);
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    source = expand.getSrc();
    auto dims =
        matchUnitDims(expand.getResultType(), expand.getReassociationIndices());
    if (!dims)
      return std::nullopt;
    indices.assign(expand.getSrcType().getRank(), zero);
    for (auto [large, small] : llvm::enumerate(*dims))
      if (small)
        indices[*small] = builder.getAffineDimExpr(large);
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    source = slice.getSource();
    RankedTensorType whole = slice.getSourceType();
    if (!whole.hasStaticShape() || !slice.hasUnitStride() ||
        llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic))
      return std::nullopt;
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    unsigned next = 0;
    for (auto [dim, offset, size] :
         llvm::enumerate(slice.getStaticOffsets(), slice.getStaticSizes())) {
      if (size != 1 && size != whole.getDimSize(dim))
        return std::nullopt;
      indices.push_back(size == 1 ? builder.getAffineConstantExpr(offset)
                                  : builder.getAffineDimExpr(next));
      next += !dropped[dim];
    }
  } else {
    return std::nullopt;
  }
  return View{source,
              AffineMap::get(type.getRank(), 0, indices, op->getContext())};
}

/// The source of a slice, possibly reshaped, or of a slice of it; none for
/// other values, and where a copy is better: of a small part, so that the rest
/// need not be kept; of elements that are not side by side; and of a tensor
/// that is changed in place.
static std::optional<View> traceSlice(Value value) {
  constexpr int64_t mostParts = 8;
  std::optional<View> found;
  bool isSlice = false;
  Value source = value;
  AffineMap map;
  while (std::optional<View> view = matchView(source)) {
    isSlice |= isa<tensor::ExtractSliceOp>(source.getDefiningOp());
    map = map ? view->map.compose(map) : view->map;
    source = view->source;
    if (isSlice)
      found = View{source, map};
  }
  if (!found)
    return std::nullopt;
  auto whole = cast<RankedTensorType>(found->source.getType());
  int64_t elements = cast<RankedTensorType>(value.getType()).getNumElements();
  bool hasStride = whole.getRank() > 0 &&
                   isa<AffineConstantExpr>(found->map.getResults().back()) &&
                   whole.getShape().back() != 1;
  if (hasStride || whole.getNumElements() > mostParts * elements ||
      isChanged(found->source))
    return std::nullopt;
  return found;
}

namespace {
/// An element-wise operation that reads a slice reads the whole tensor at
/// constant indices: the slice is not copied.
struct ReadSlice : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    // Almost all operations read none.
    if (llvm::none_of(op.getDpsInputs(), [](Value input) {
          return isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                                 tensor::ExtractSliceOp>(input.getDefiningOp());
        }))
      return failure();
    if (!lockstep::isElementwise(op) || !op.hasPureTensorSemantics() ||
        llvm::any_of(op.getStaticLoopRanges(), ShapedType::isDynamic))
      return failure();
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    bool changed = false;
    for (OpOperand *input : op.getDpsInputOperands())
      if (std::optional<View> view = traceSlice(input->get())) {
        AffineMap &map = maps[input->getOperandNumber()];
        map = view->map.compose(map);
        rewriter.modifyOpInPlace(op, [&] { input->set(view->source); });
        changed = true;
      }
    if (!changed)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    });
    return success();
  }
};

/// Padding of dimensions of size one, as in the derivative of a slice: each
/// element is computed where it is read.
struct SelectPadding : OpRewritePattern<tensor::PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::PadOp pad,
                                PatternRewriter &rewriter) const override {
    Value padding = pad.getConstantPaddingValue();
    RankedTensorType from = pad.getSourceType(), to = pad.getResultType();
    if (!padding || !from.hasStaticShape() || !to.hasStaticShape() ||
        llvm::any_of(pad.getStaticLow(), ShapedType::isDynamic))
      return failure();
    SmallVector<std::pair<unsigned, int64_t>> padded;
    SmallVector<AffineExpr> place;
    for (auto [dim, low] : llvm::enumerate(pad.getStaticLow())) {
      bool isPadded = from.getDimSize(dim) != to.getDimSize(dim) || low != 0;
      if (isPadded && (from.getDimSize(dim) != 1 || low < 0))
        return failure();
      if (isPadded)
        padded.push_back({dim, low});
      place.push_back(isPadded ? rewriter.getAffineConstantExpr(0)
                               : rewriter.getAffineDimExpr(dim));
    }
    if (padded.empty())
      return failure();
    Location loc = pad.getLoc();
    // The value may be defined in the region of the operation.
    if (pad.getRegion().isAncestor(padding.getParentRegion()))
      padding = rewriter.clone(*padding.getDefiningOp())->getResult(0);
    AffineMap read =
        AffineMap::get(to.getRank(), 0, place, rewriter.getContext());
    rewriter.replaceOp(
        pad,
        createElementwise(
            rewriter, loc, to, pad.getSource(),
            [&](OpBuilder &builder, ValueRange arguments) -> Value {
              Value isInside;
              for (auto [dim, low] : padded) {
                Value isHere = arith::CmpIOp::create(
                    builder, loc, arith::CmpIPredicate::eq,
                    linalg::IndexOp::create(builder, loc, dim),
                    Value(arith::ConstantIndexOp::create(builder, loc, low)));
                isInside = isInside ? Value(arith::AndIOp::create(
                                          builder, loc, isInside, isHere))
                                    : isHere;
              }
              return arith::SelectOp::create(builder, loc, isInside,
                                             arguments.front(), padding);
            },
            read));
    return success();
  }
};
} // namespace

void lockstep::populateFuseSlicesPatterns(RewritePatternSet &patterns) {
  patterns.add<ReadSlice, SelectPadding>(patterns.getContext());
}

//===- FuseExtracts.cpp - Compute only the elements that are taken --------===//

#include "passes/Kernels/Fusion.h"
#include "passes/Kernels/Structure.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace lockstep;
using namespace mlir;

/// Whether `op`, which takes elements of the result of `producer`, takes so few
/// of them that computing these alone costs less than all. Not in a loop, which
/// takes them repeatedly.
static bool takesFewElements(linalg::GenericOp op, linalg::GenericOp producer) {
  constexpr int64_t fraction = 4;
  if (op->getBlock() != producer->getBlock())
    return false;
  auto result = cast<RankedTensorType>(producer.getResultTypes().front());
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (!result.hasStaticShape() || llvm::any_of(sizes, ShapedType::isDynamic))
    return false;
  return computeProduct(sizes) <= result.getNumElements() / fraction;
}

namespace {
/// Takes elements of the operands of an element-wise operation, and computes
/// its own of them, instead of taking them of its result. The score of a word
/// among thousands is taken of the logarithms of all.
struct FuseExtract : OpRewritePattern<tensor::ExtractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractOp extract,
                                PatternRewriter &rewriter) const override {
    auto producer = extract.getTensor().getDefiningOp<linalg::GenericOp>();
    auto consumer = dyn_cast<linalg::GenericOp>(extract->getParentOp());
    if (!producer || !consumer || !producer->hasOneUse() ||
        producer.getNumResults() != 1 || !lockstep::isElementwise(producer) ||
        producer.payloadUsesValueFromOperand(producer.getDpsInitOperand(0)) ||
        !takesFewElements(consumer, producer))
      return failure();
    AffineMap place =
        producer.getMatchingIndexingMap(producer.getDpsInitOperand(0));
    if (!place.isPermutation())
      return failure();
    Location loc = extract.getLoc();
    SmallVector<Value> dims = llvm::map_to_vector(
        inversePermutation(place).getResults(), [&](AffineExpr dim) -> Value {
          return extract.getIndices()[cast<AffineDimExpr>(dim).getPosition()];
        });
    IRMapping mapping;
    for (OpOperand *input : producer.getDpsInputOperands()) {
      Value element = input->get();
      if (isa<RankedTensorType>(element.getType())) {
        SmallVector<Value> indices = llvm::map_to_vector(
            producer.getMatchingIndexingMap(input).getResults(),
            [&](AffineExpr index) {
              return affine::expandAffineExpr(rewriter, loc, index, dims, {});
            });
        element = tensor::ExtractOp::create(rewriter, loc, element, indices);
      }
      mapping.map(producer.getMatchingBlockArgument(input), element);
    }
    for (Operation &inner : producer.getBody()->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        mapping.map(index.getResult(), dims[index.getDim()]);
      else
        rewriter.clone(inner, mapping);
    }
    rewriter.replaceOp(extract,
                       mapping.lookupOrDefault(
                           producer.getBody()->getTerminator()->getOperand(0)));
    return success();
  }
};
} // namespace

void lockstep::populateFuseExtractsPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseExtract>(patterns.getContext());
}

//===- FuseOperations.cpp - Fuses element-wise operations -----------------===//
//
// Producer-consumer fusion is upstream's (`linalg` element-wise fusion); this
// file decides which operations are fused. FuseExtracts.cpp and FuseSlices.cpp
// add those that take elements and slices. The transformations after it are in
// FoldTransposes.cpp, RoundProducts.cpp and FuseSiblings.cpp.
//
//===----------------------------------------------------------------------===//

#include "passes/Canonicalization.h"
#include "passes/Kernels/Fusion.h"
#include "passes/Kernels/InitsAsInputs.h"
#include "passes/Kernels/Structure.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_FUSEOPERATIONSPASS
#include "passes/Passes.h.inc"

namespace {

/// Whether every element of the result is one of a smaller tensor, or a
/// constant.
bool isBroadcast(linalg::GenericOp op) {
  auto result = cast<RankedTensorType>(op.getResultTypes().front());
  return op.getNumReductionLoops() == 0 && op.getNumResults() == 1 &&
         op.getBody()->without_terminator().empty() &&
         result.hasStaticShape() &&
         llvm::all_of(op.getDpsInputs(), [&](Value input) {
           auto type = dyn_cast<RankedTensorType>(input.getType());
           return !type || (type.hasStaticShape() &&
                            type.getNumElements() < result.getNumElements());
         });
}

/// Whether reading the inputs of `op` again in each of its users accesses no
/// more memory than storing its result and reading that. Smaller tensors than
/// the result do not count. Never if an input is computed for `op` alone: it is
/// stored only if `op` is not computed with it.
bool readsLessThanResult(linalg::GenericOp op) {
  constexpr int64_t fewElements = 1 << 10;
  auto result = cast<RankedTensorType>(op.getResultTypes().front());
  size_t inputs =
      llvm::count_if(op.getDpsInputOperands(), [&](OpOperand *input) {
        return op.getMatchingIndexingMap(input).isPermutation();
      });
  if (inputs <= 1 ||
      (result.hasStaticShape() && result.getNumElements() < fewElements))
    return true;
  if (llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
        auto producer = input->get().getDefiningOp<linalg::GenericOp>();
        return producer && lockstep::isElementwise(producer) &&
               producer->hasOneUse() &&
               op.getMatchingIndexingMap(input).isPermutation();
      }))
    return false;
  // A user that must read the stored result makes storing it free. Without
  // one, with r readers: r * inputs <= inputs + 1 + r.
  size_t mostReaders = (inputs + 1) / (inputs - 1), readers = 0;
  for (Operation *user : op->getUsers()) {
    // The new value of a variable is computed by one operation with its
    // reader, if that computes another one of it (FuseSiblings.cpp).
    if (user->hasTrait<OpTrait::IsTerminator>())
      continue;
    auto reader = dyn_cast<linalg::GenericOp>(user);
    if (!reader || isProduct(reader) || ++readers > mostReaders)
      return false;
  }
  return true;
}

/// Whether a product has `value` as a factor, possibly in another shape.
bool isReadByProduct(Value value) {
  return llvm::any_of(value.getUsers(), [value](Operation *user) {
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(user))
      return isReadByProduct(user->getResult(0));
    auto reader = dyn_cast<linalg::LinalgOp>(user);
    if (!reader)
      return false;
    auto [left, right] = getFactors(reader);
    return left && (left->get() == value || right->get() == value);
  });
}

/// Whether memory has the result of `op` anyway, since products read it, and a
/// product that only `op` needs may stay in registers: it would have to be
/// stored, too, if other users repeated `op`.
bool isStoredInsteadOfProduct(linalg::GenericOp op) {
  // Fusion leaves results that are not used before the one that is.
  return findProductFor(op.getResult(0)) &&
         llvm::any_of(op.getResults(), isReadByProduct);
}

/// Whether computing `op` once for each of its users costs less than storing
/// and loading its result.
bool isCheapToRepeat(linalg::GenericOp op) {
  constexpr unsigned kMostOperations = 3, kMostInputs = 2;
  if (op.getNumReductionLoops() > 0 || op.getNumDpsInputs() > kMostInputs ||
      !readsLessThanResult(op))
    return false;
  unsigned operations = 0;
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (isa<arith::ConstantOp, linalg::IndexOp>(inner))
      continue;
    if (isa<math::MathDialect>(inner.getDialect()) ||
        isa<arith::DivFOp, tensor::ExtractOp>(inner))
      return false;
    ++operations;
  }
  return operations <= kMostOperations && !isStoredInsteadOfProduct(op);
}

/// Whether an operand is read at a constant index of a dimension of size one,
/// along which the result has more elements.
bool repeats(linalg::GenericOp op, OpOperand *operand) {
  AffineMap map = op.getMatchingIndexingMap(operand);
  auto type = dyn_cast<RankedTensorType>(operand->get().getType());
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (!type || !type.hasStaticShape() ||
      llvm::any_of(sizes, ShapedType::isDynamic) ||
      llvm::none_of(map.getResults(), llvm::IsaPred<AffineConstantExpr>))
    return false;
  return computeProduct(sizes) > type.getNumElements();
}

bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer)
    return false;
  // Recomputation makes the consumer larger: without a bound, a chain of values
  // that are each used twice (the rounds of a random number generator) would
  // grow exponentially.
  constexpr unsigned kMostAfterRepeating = 16;
  bool copies = isBroadcast(producer);
  if (!producer->hasOneUse() && !copies &&
      !(isCheapToRepeat(producer) &&
        llvm::hasNItemsOrLess(*consumer.getBody(), kMostAfterRepeating)))
    return false;
  // Do not fuse into a product: it reads each element of its operands many
  // times.
  if (isProduct(consumer) && !(copies && !getFactors(consumer).first))
    return false;
  // The consumer computes what is repeated along one of its dimensions, or is
  // selected where it is not padding, in each of its iterations.
  return copies || !repeats(consumer, operand) || isCheapToRepeat(producer);
}

/// Upstream's pattern, which asks about each operand whether it could be fused
/// before it asks whether it should. Most should not, and are asked about again
/// whenever a producer or user of the operation has changed: the other order
/// takes half as long.
struct FuseProducer : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  static constexpr const char *kUpstream =
      "(anonymous namespace)::FuseElementwiseOps";

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!shouldFuse(&operand) || !linalg::areElementwiseOpsFusable(&operand))
        continue;
      Operation *producer = operand.get().getDefiningOp();
      FailureOr<linalg::ElementwiseOpFusionResult> fused =
          linalg::fuseElementwiseOps(rewriter, &operand);
      if (failed(fused))
        return failure();
      // Other users of the producer keep using it.
      for (auto [value, replacement] : fused->replacements)
        if (value.getDefiningOp() != producer)
          rewriter.replaceAllUsesWith(value, replacement);
      rewriter.eraseOp(op);
      return success();
    }
    return failure();
  }
};

/// Whether an element-wise operation only reads tensors that have been given
/// dimensions of size one, and is read by other computations: it is computed
/// without these dimensions.
bool hasAddedDimensions(OpOperand *operand) {
  auto op = dyn_cast<linalg::GenericOp>(operand->getOwner());
  return op && lockstep::isElementwise(op) &&
         llvm::all_of(
             op.getDpsInputs(),
             [](Value input) {
               auto expand = input.getDefiningOp<tensor::ExpandShapeOp>();
               return !isa<RankedTensorType>(input.getType()) ||
                      (expand && expand.getResultType().hasStaticShape() &&
                       expand.getResultType().getNumElements() > 0 &&
                       matchUnitDims(expand.getResultType(),
                                     expand.getReassociationIndices()));
             }) &&
         llvm::all_of(op->getUsers(),
                      llvm::IsaPred<linalg::LinalgOp, tensor::CollapseShapeOp>);
}

/// Applies patterns to a fixed point, except to terminators: that of a step has
/// an operand for each variable, and the driver would revisit all of their
/// producers whenever one of them is replaced.
LogicalResult applyPatterns(func::FuncOp function,
                            const FrozenRewritePatternSet &patterns) {
  SmallVector<Operation *> ops;
  function.getBody().walk([&](Operation *op) {
    if (!op->hasTrait<OpTrait::IsTerminator>())
      ops.push_back(op);
  });
  return applyOpPatternsGreedily(
      ops, patterns,
      GreedyRewriteConfig().setStrictness(
          GreedyRewriteStrictness::ExistingAndNewOps));
}

void addTensorCanonicalizations(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  context->getLoadedDialect<linalg::LinalgDialect>()
      ->getCanonicalizationPatterns(patterns);
  context->getLoadedDialect<tensor::TensorDialect>()
      ->getCanonicalizationPatterns(patterns);
  addCanonicalizations(patterns, {"linalg", "tensor", "arith"});
}

/// Leaves out loops of one iteration of an operation.
void dropDims(IRRewriter &rewriter, linalg::GenericOp op,
              ArrayRef<unsigned> dims) {
  linalg::ControlDropUnitDims control;
  control.controlFn = [&](Operation *) { return SmallVector<unsigned>(dims); };
  rewriter.setInsertionPoint(op);
  auto dropped = linalg::dropUnitDims(rewriter, op, control);
  if (succeeded(dropped))
    rewriter.replaceOp(op, dropped->replacements);
}

/// Makes reductions over loops of one iteration element-wise. The derivative of
/// a broadcast that repeats nothing is such a sum.
void dropUnitReductions(func::FuncOp function) {
  SmallVector<linalg::GenericOp> ops;
  function.walk([&](linalg::GenericOp op) {
    SmallVector<unsigned> dims;
    op.getReductionDims(dims);
    if (!dims.empty() && !getFactors(op).first &&
        llvm::none_of(op.getStaticLoopRanges(), ShapedType::isDynamic) &&
        llvm::all_of(dims, [&](unsigned dim) {
          return op.getStaticLoopRanges()[dim] == 1;
        }))
      ops.push_back(op);
  });
  IRRewriter rewriter(function.getContext());
  for (linalg::GenericOp op : ops) {
    SmallVector<unsigned> dims;
    op.getReductionDims(dims);
    dropDims(rewriter, op, dims);
  }
}

/// The loops of one iteration that only add zero to an index, as those over a
/// filter of one element; none if there are other sums.
SmallVector<unsigned> getUnitWindows(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  llvm::SmallSetVector<unsigned, 4> found;
  for (AffineMap map : op.getIndexingMapsArray())
    for (AffineExpr index : map.getResults()) {
      if (isa<AffineDimExpr>(index))
        continue;
      auto sum = dyn_cast<AffineBinaryOpExpr>(index);
      if (!sum || sum.getKind() != AffineExprKind::Add)
        return {};
      auto isUnit = [&](AffineExpr term) {
        auto dim = dyn_cast<AffineDimExpr>(term);
        return dim && sizes[dim.getPosition()] == 1;
      };
      AffineExpr unit = isUnit(sum.getRHS()) ? sum.getRHS() : sum.getLHS(),
                 other = unit == sum.getRHS() ? sum.getLHS() : sum.getRHS();
      if (!isUnit(unit) || !isa<AffineDimExpr>(other))
        return {};
      found.insert(cast<AffineDimExpr>(unit).getPosition());
    }
  return found.takeVector();
}

/// Makes convolutions by filters of one element, and the gradients of these,
/// products of matrices.
void dropUnitWindows(func::FuncOp function) {
  SmallVector<linalg::LinalgOp> products;
  function.walk([&](linalg::LinalgOp op) {
    if (isProduct(op) && op.hasPureTensorSemantics() &&
        llvm::none_of(op.getStaticLoopRanges(), ShapedType::isDynamic) &&
        !getUnitWindows(op).empty())
      products.push_back(op);
  });
  IRRewriter rewriter(function.getContext());
  for (linalg::LinalgOp product : products) {
    rewriter.setInsertionPoint(product);
    auto op = dyn_cast<linalg::GenericOp>(product.getOperation());
    if (!op) {
      FailureOr<linalg::GenericOp> generic =
          linalg::generalizeNamedOp(rewriter, product);
      if (failed(generic))
        continue;
      op = *generic;
    }
    if (getFactors(op).first)
      dropDims(rewriter, op, getUnitWindows(op));
  }
}

struct FuseOperations : impl::FuseOperationsPassBase<FuseOperations> {
  using FuseOperationsPassBase::FuseOperationsPassBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    foldDilations(getOperation(), leastSplit);
    dropUnitReductions(getOperation());
    dropUnitWindows(getOperation());
    // First, because an operation that reads its destination would, after
    // fusion, read elements that it has written itself.
    RewritePatternSet inputs(context);
    populateInitsAsInputsPatterns(inputs);
    walkAndApplyPatterns(getOperation(), std::move(inputs));
    // Before the patterns for fusion, one of which replaces a destination that
    // is not read by an empty tensor: of a dynamic type for a size that is
    // known, this would go on forever.
    RewritePatternSet shapes(context);
    addTensorCanonicalizations(shapes);
    if (failed(applyPatterns(getOperation(), freeze(std::move(shapes)))))
      return signalPassFailure();
    compareMaxima(getOperation());
    RewritePatternSet patterns(context);
    patterns.add<FuseProducer>(context);
    linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
    populateFuseExtractsPatterns(patterns);
    populateFuseSlicesPatterns(patterns);
    linalg::populateFoldReshapeOpsByCollapsingPatterns(patterns,
                                                       hasAddedDimensions);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    linalg::populateConstantFoldLinalgOperations(
        patterns, [](OpOperand *) { return true; });
    tensor::populateFoldTensorEmptyPatterns(patterns);
    affine::AffineApplyOp::getCanonicalizationPatterns(patterns, context);
    addTensorCanonicalizations(patterns);
    FrozenRewritePatternSet frozen =
        freeze(std::move(patterns), {FuseProducer::kUpstream});
    if (failed(applyPatterns(getOperation(), frozen)))
      return signalPassFailure();
    // Operations that only transposed are copies afterwards.
    if (foldTransposesIntoProducts(getOperation()) &&
        failed(applyPatterns(getOperation(), frozen)))
      return signalPassFailure();
    roundProducts(getOperation(), libraryProducts, libraryConvolutions);
    bool fused = fuseEpilogues(getOperation());
    fused |= fuseSiblings(getOperation());
    if (!fused)
      return;
    // An input of both fused operations is now a duplicate operand.
    RewritePatternSet operands(context);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(operands);
    if (failed(applyPatterns(getOperation(), std::move(operands))))
      return signalPassFailure();
  }
};
} // namespace
} // namespace lockstep

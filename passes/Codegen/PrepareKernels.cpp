//===- PrepareKernels.cpp - Normalize the bodies of kernels ---------------===//

#include "dialect/Device/DeviceDialect.h"
#include "passes/Canonicalization.h"
#include "passes/Kernels/InitsAsInputs.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

namespace lockstep {
#define GEN_PASS_DEF_PREPAREKERNELSPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace mlir;

namespace {

/// Converts a large splat constant to a fill, which is cheaper than reading it.
struct SplatToFill : OpRewritePattern<arith::ConstantOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ConstantOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    auto elements = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!type || !elements || type.getNumElements() <= 16)
      return failure();
    auto scalar = dyn_cast<TypedAttr>(elements.getSplatValue<Attribute>());
    if (!scalar || !isa<FloatType, IntegerType, IndexType>(scalar.getType()))
      return failure();
    Value value = arith::ConstantOp::create(rewriter, op.getLoc(), scalar);
    Value empty = tensor::EmptyOp::create(
        rewriter, op.getLoc(), type.getShape(), type.getElementType());
    rewriter.replaceOpWithNewOp<linalg::FillOp>(op, value, empty);
    return success();
  }
};

/// True if `op` only moves elements: the body yields one of its inputs.
bool isDataMovement(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInits() != 1 ||
      generic.getBlock()->getOperations().size() != 1)
    return false;
  auto argument = dyn_cast<BlockArgument>(
      generic.getBlock()->getTerminator()->getOperand(0));
  return argument && argument.getOwner() == generic.getBlock() &&
         argument.getArgNumber() < generic.getNumDpsInputs();
}

/// True if the operand is a fill, so that all its elements are equal.
bool isFillRead(OpOperand *use) {
  auto fill = use->get().getDefiningOp<linalg::GenericOp>();
  return fill && isDataMovement(fill) &&
         !isa<ShapedType>(fill.getDpsInputs().front().getType());
}

/// True if the producer of an operand may be fused into the operation that uses
/// it. Only data movement is fused into reductions. What else can be has been,
/// before kernels were formed: it decides about the order and the roundings of
/// a sum, and kernels depend on the topology.
bool shouldFuse(OpOperand *use) {
  Operation *producer = use->get().getDefiningOp();
  auto consumer = dyn_cast<linalg::LinalgOp>(use->getOwner());
  if (!producer || !consumer)
    return false;
  if (isDataMovement(producer))
    return true;
  if (!producer->hasOneUse())
    return false;
  // Only if the body is evaluated once for each element of the operand.
  return consumer.getNumReductionLoops() == 0 &&
         consumer.getMatchingIndexingMap(use).isPermutation();
}

struct PrepareKernels : lockstep::impl::PrepareKernelsPassBase<PrepareKernels> {
  using PrepareKernelsPassBase::PrepareKernelsPassBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<lockstep::device::KernelOp>()) {
      RewritePatternSet patterns(&getContext());
      linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
      linalg::populateDecomposePadPatterns(patterns);
      tensor::populateDecomposeTensorConcatPatterns(patterns);
      patterns.add<SplatToFill>(&getContext());
      lockstep::populateInitsAsInputsPatterns(patterns);
      if (failed(applyPatternsGreedily(kernel, std::move(patterns))))
        return signalPassFailure();
      // Fills, which may be large, are fused at every level, instead of being
      // stored and read.
      fuse(kernel, optimize ? shouldFuse : isFillRead);
    }
  }

  void fuse(lockstep::device::KernelOp kernel,
            const linalg::ControlFusionFn &control) {
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(patterns, control);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    for (Dialect *dialect : getContext().getLoadedDialects())
      dialect->getCanonicalizationPatterns(patterns);
    lockstep::addCanonicalizations(
        patterns, {"linalg", "tensor", "scf", "arith", "math"});
    (void)applyPatternsGreedily(kernel, lockstep::freeze(std::move(patterns)));
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(kernel);
    eliminateCommonSubExpressions(rewriter, dominance, kernel);
  }
};

} // namespace

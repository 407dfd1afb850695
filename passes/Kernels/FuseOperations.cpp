//===- FuseOperations.cpp - Fuses element-wise operations -----------------===//
//
// Producer-consumer fusion is upstream's (`linalg` element-wise fusion); this
// file decides which operations are fused. The transformations after it are in
// FoldTransposes.cpp and FuseSiblings.cpp.
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
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_FUSEOPERATIONSPASS
#include "passes/Passes.h.inc"

namespace {

/// Whether computing `op` once for each of its users costs less than storing
/// and loading its result.
bool isCheapToRepeat(linalg::GenericOp op) {
  constexpr unsigned kMostOperations = 3, kMostInputs = 2;
  if (op.getNumReductionLoops() > 0 || op.getNumDpsInputs() > kMostInputs)
    return false;
  unsigned operations = 0;
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (isa<math::MathDialect>(inner.getDialect()) ||
        isa<arith::DivFOp, tensor::ExtractOp>(inner))
      return false;
    ++operations;
  }
  return operations <= kMostOperations;
}

bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer)
    return false;
  // Do not fuse into a product: it reads each element of its operands many
  // times.
  if (isProduct(consumer))
    return false;
  // Recomputation makes the consumer larger: without a bound, a chain of values
  // that are each used twice (the rounds of a random number generator) would
  // grow exponentially.
  constexpr size_t kMostAfterRepeating = 16;
  return producer->hasOneUse() ||
         (isCheapToRepeat(producer) &&
          consumer.getBody()->getOperations().size() <= kMostAfterRepeating);
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

struct FuseOperations : impl::FuseOperationsPassBase<FuseOperations> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
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
    RewritePatternSet patterns(context);
    linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    linalg::populateConstantFoldLinalgOperations(
        patterns, [](OpOperand *) { return true; });
    tensor::populateFoldTensorEmptyPatterns(patterns);
    affine::AffineApplyOp::getCanonicalizationPatterns(patterns, context);
    addTensorCanonicalizations(patterns);
    FrozenRewritePatternSet frozen = freeze(std::move(patterns));
    if (failed(applyPatterns(getOperation(), frozen)))
      return signalPassFailure();
    // Operations that only transposed are copies afterwards.
    if (foldTransposesIntoProducts(getOperation()) &&
        failed(applyPatterns(getOperation(), frozen)))
      return signalPassFailure();
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

//===- FuseOperations.cpp - Fuses element-wise operations -----------------===//
//
// Vertical fusion is upstream's (`linalg` element-wise fusion); this file decides what may be fused, and adds the
// horizontal fusion of element-wise operations that read the same value, so that a product can have
// one epilogue although two results are computed from it.
//
//===----------------------------------------------------------------------===//

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

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_FUSEOPERATIONSPASS
#include "passes/Passes.h.inc"

namespace {

/// Whether computing `op` once for each of its users costs less than storing and loading its result.
bool isCheapToRepeat(linalg::GenericOp op) {
  constexpr unsigned kMostOperations = 3, kMostInputs = 2;
  if (op.getNumReductionLoops() > 0 || op.getNumDpsInputs() > kMostInputs)
    return false;
  unsigned operations = 0;
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (isa<math::MathDialect>(inner.getDialect()) || isa<arith::DivFOp, tensor::ExtractOp>(inner))
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
  // A product keeps its operands in memory: its code reads each of them many times.
  if (isProduct(consumer))
    return false;
  // What is repeated grows the consumer: without a bound, values that are used twice at every level (the rounds of a
  // random number generator) would grow it exponentially.
  constexpr size_t kMostAfterRepeating = 16;
  return producer->hasOneUse() || (isCheapToRepeat(producer) && consumer.getBody()->getOperations().size() <= kMostAfterRepeating);
}

/// Merges `second` into `first`: both are element-wise on the same shape and share an input.
void fuseSideBySide(IRRewriter &rewriter, linalg::GenericOp first, linalg::GenericOp second) {
  SmallVector<Value> inputs(first.getDpsInputs()), inits(first.getDpsInits());
  llvm::append_range(inputs, second.getDpsInputs());
  llvm::append_range(inits, second.getDpsInits());
  SmallVector<AffineMap> maps;
  auto appendMaps = [&](bool ofInits) {
    for (linalg::GenericOp op : {first, second})
      for (OpOperand &operand : op->getOpOperands())
        if (op.isDpsInit(&operand) == ofInits)
          maps.push_back(op.getMatchingIndexingMap(&operand));
  };
  appendMaps(false);
  appendMaps(true);

  rewriter.setInsertionPoint(second);
  auto fused = linalg::GenericOp::create(
      rewriter, rewriter.getFusedLoc({first.getLoc(), second.getLoc()}), ValueRange(inits).getTypes(), inputs, inits,
      maps, first.getIteratorTypesArray(), [&](OpBuilder &b, Location loc, ValueRange arguments) {
        SmallVector<Value> yielded;
        unsigned inputOffset = 0, initOffset = inputs.size();
        for (linalg::GenericOp op : {first, second}) {
          IRMapping mapping;
          unsigned numInputs = op.getNumDpsInputs();
          for (auto [i, argument] : llvm::enumerate(op.getBody()->getArguments()))
            mapping.map(argument, i < numInputs ? arguments[inputOffset + i] : arguments[initOffset + i - numInputs]);
          for (Operation &inner : op.getBody()->without_terminator())
            b.clone(inner, mapping);
          for (Value value : op.getBody()->getTerminator()->getOperands())
            yielded.push_back(mapping.lookupOrDefault(value));
          inputOffset += numInputs;
          initOffset += op.getNumDpsInits();
        }
        linalg::YieldOp::create(b, loc, yielded);
      });
  unsigned split = first.getNumResults();
  rewriter.replaceOp(first, fused.getResults().take_front(split));
  rewriter.replaceOp(second, fused.getResults().drop_front(split));
}

/// Whether `first`, which comes before `second` in its block, may be computed where `second` stands.
bool mayMoveTo(linalg::GenericOp first, linalg::GenericOp second) {
  for (Operation *user : first->getUsers()) {
    Operation *ancestor = first->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor || !second->isBeforeInBlock(ancestor))
      return false;
  }
  return true;
}

/// Fuses the element-wise users of each product, if they depend on nothing that comes between them.
void fuseEpilogues(func::FuncOp function) {
  SmallVector<linalg::LinalgOp> products;
  function.walk([&](linalg::LinalgOp op) {
    if (isProduct(op) && op->getNumResults() == 1)
      products.push_back(op);
  });
  IRRewriter rewriter(function.getContext());
  for (linalg::LinalgOp product : products) {
    SmallVector<linalg::GenericOp> epilogues;
    for (Operation *user : product->getUsers())
      if (auto generic = dyn_cast<linalg::GenericOp>(user); generic && generic->getBlock() == product->getBlock() &&
                                                            isEpilogueOf(generic, product) &&
                                                            !llvm::is_contained(epilogues, generic))
        epilogues.push_back(generic);
    llvm::sort(epilogues, [](linalg::GenericOp a, linalg::GenericOp b) { return a->isBeforeInBlock(b); });
    if (epilogues.size() == 2 && mayMoveTo(epilogues[0], epilogues[1]))
      fuseSideBySide(rewriter, epilogues[0], epilogues[1]);
  }
}

struct FuseOperations : impl::FuseOperationsPassBase<FuseOperations> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    linalg::populateConstantFoldLinalgOperations(patterns, [](OpOperand *) { return true; });
    tensor::populateFoldTensorEmptyPatterns(patterns);
    affine::AffineApplyOp::getCanonicalizationPatterns(patterns, context);
    context->getLoadedDialect<linalg::LinalgDialect>()->getCanonicalizationPatterns(patterns);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      if (StringRef dialect = op.getDialectNamespace(); dialect == "linalg" || dialect == "tensor" || dialect == "arith")
        op.getCanonicalizationPatterns(patterns, context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    fuseEpilogues(getOperation());
  }
};
} // namespace
} // namespace lockstep

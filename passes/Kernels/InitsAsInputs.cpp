//===- InitsAsInputs.cpp - Convert destinations to inputs -----------------===//

#include "passes/Kernels/InitsAsInputs.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace {

/// Makes the destination of an element-wise operation an additional input, so
/// that the result may be written elsewhere.
struct InitToInput : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    // First what is true of most operations and cheap to find.
    if (llvm::all_of(op.getOutputs(), [](Value init) {
          return static_cast<bool>(init.getDefiningOp<tensor::EmptyOp>());
        }))
      return failure();
    if (!op.hasPureTensorSemantics() ||
        op.getNumParallelLoops() != op.getNumLoops())
      return failure();
    SmallVector<OpOperand *> inits;
    for (OpOperand &init : op.getDpsInitsMutable())
      if (!init.get().getDefiningOp<tensor::EmptyOp>())
        inits.push_back(&init);
    SmallVector<Value> inputs = op.getInputs(), outputs = op.getOutputs();
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    size_t numInputs = inputs.size();
    SmallVector<unsigned> read; // numbers of the inits whose value is used
    for (OpOperand *init : inits) {
      unsigned number = init->getOperandNumber() - numInputs;
      if (op.payloadUsesValueFromOperand(init)) {
        maps.insert(maps.begin() + inputs.size(),
                    op.getMatchingIndexingMap(init));
        inputs.push_back(init->get());
        read.push_back(number);
      }
      auto type = cast<RankedTensorType>(init->get().getType());
      outputs[number] = tensor::EmptyOp::create(
          rewriter, op.getLoc(),
          tensor::getMixedSizes(rewriter, op.getLoc(), init->get()),
          type.getElementType());
    }
    auto generic = linalg::GenericOp::create(
        rewriter, op.getLoc(), op->getResultTypes(), inputs, outputs, maps,
        op.getIteratorTypesArray());
    rewriter.cloneRegionBefore(op.getRegion(), generic.getRegion(),
                               generic.getRegion().begin());
    Block &body = *generic.getBlock();
    for (auto [i, number] : llvm::enumerate(read)) {
      BlockArgument old = body.getArgument(numInputs + i + number);
      BlockArgument input =
          body.insertArgument(numInputs + i, old.getType(), old.getLoc());
      body.getArgument(numInputs + i + 1 + number).replaceAllUsesWith(input);
    }
    rewriter.replaceOp(op, generic);
    return success();
  }
};

} // namespace

void lockstep::populateInitsAsInputsPatterns(RewritePatternSet &patterns) {
  patterns.add<InitToInput>(patterns.getContext());
}

//===- ConvertElementwise.cpp - Element-wise operations to linalg ---------===//

#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_CONVERTELEMENTWISEPASS
#include "passes/Passes.h.inc"

namespace {

/// True for a select between two whole tensors of dynamic shape. Their sizes
/// may differ, so it is not element-wise.
bool isChoiceOfSizes(Operation *op) {
  auto select = dyn_cast<arith::SelectOp>(op);
  auto type = select ? dyn_cast<RankedTensorType>(select.getType())
                     : RankedTensorType();
  return type && !type.hasStaticShape() &&
         select.getCondition().getType().isInteger(1);
}

struct ConvertElementwise
    : impl::ConvertElementwisePassBase<ConvertElementwise> {
  void runOnOperation() override {
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *op) {
      return isChoiceOfSizes(op) ||
             !OpTrait::hasElementwiseMappableTraits(op) ||
             !llvm::any_of(op->getOperandTypes(),
                           llvm::IsaPred<RankedTensorType>);
    });
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
} // namespace lockstep

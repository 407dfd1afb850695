//===- Structure.cpp - Classes of linalg operations -----------------------===//

#include "passes/Kernels/Structure.h"

using namespace mlir;

bool lockstep::isProduct(linalg::LinalgOp op) {
  return op.getNumReductionLoops() > 0 && op.getNumDpsInputs() >= 2 &&
         op.getNumDpsInits() == 1;
}

bool lockstep::isElementwise(linalg::LinalgOp op) {
  return op.getNumReductionLoops() == 0;
}

bool lockstep::isEpilogueOf(linalg::GenericOp consumer,
                            linalg::LinalgOp product) {
  if (!lockstep::isElementwise(consumer) || product->getNumResults() != 1)
    return false;
  for (OpOperand &operand : consumer->getOpOperands()) {
    bool isInit = consumer.isDpsInit(&operand);
    if ((isInit || operand.get() == product->getResult(0)) &&
        !consumer.getMatchingIndexingMap(&operand).isIdentity())
      return false;
    if (isInit && operand.get() == product->getResult(0))
      return false;
  }
  // The code of a product with an epilogue keeps the sums of a tile, whose size
  // must be static.
  auto type = cast<RankedTensorType>(product->getResultTypes().front());
  return type.hasStaticShape() &&
         type.getShape() ==
             cast<RankedTensorType>(consumer.getResultTypes().front())
                 .getShape();
}

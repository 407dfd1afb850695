//===- ExactOperations.cpp - What is the same wherever it is computed -----===//

#include "dialect/Interfaces/ExactOperations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

bool lockstep::isSingleNumber(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return !type || (type.hasRank() && type.getRank() == 0);
}

bool lockstep::isExact(Operation *op) {
  if (!op->getDialect() ||
      !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
      op->getNumRegions() || op->getNumResults() != 1)
    return false;
  // Some operations, as conversions, need not say it.
  if (auto math = dyn_cast<arith::ArithFastMathInterface>(op))
    if (arith::FastMathFlagsAttr flags = math.getFastMathFlagsAttr();
        flags && flags.getValue() != arith::FastMathFlags::none)
      return false;
  auto isNumber = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return llvm::all_of(op->getOperandTypes(), isNumber) &&
         llvm::all_of(op->getResultTypes(), isNumber);
}

bool lockstep::isExactByElements(linalg::GenericOp generic, OpResult result) {
  auto type = cast<RankedTensorType>(result.getType());
  if (generic.getNumLoops() != generic.getNumParallelLoops() ||
      !type.hasStaticShape() ||
      !generic
           .getMatchingIndexingMap(
               generic.getDpsInitOperand(result.getResultNumber()))
           .isIdentity())
    return false;
  for (OpOperand &operand : generic->getOpOperands()) {
    if (generic.getMatchingBlockArgument(&operand).use_empty() ||
        isSingleNumber(operand.get()))
      continue;
    auto from = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!from || from.getShape() != type.getShape() ||
        !generic.getMatchingIndexingMap(&operand).isIdentity())
      return false;
  }
  // How other functions are computed may depend on how the loop is vectorized.
  return llvm::all_of(
      generic.getBody()->without_terminator(), [](Operation &op) {
        return isExact(&op) &&
               (isa<arith::ArithDialect>(op.getDialect()) ||
                isa<math::SqrtOp, math::AbsFOp, math::AbsIOp>(op));
      });
}

bool lockstep::isMove(Operation *op) {
  auto isStatic = [](Value value) {
    return isSingleNumber(value) ||
           cast<ShapedType>(value.getType()).hasStaticShape();
  };
  return isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
             tensor::ExtractSliceOp>(op) &&
         op->getNumOperands() == 1 && isStatic(op->getOperand(0)) &&
         isStatic(op->getResult(0));
}

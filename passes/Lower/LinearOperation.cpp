//===- LinearOperation.cpp - Element-wise operations on a tensor ----------===//

#include "passes/Lower/LinearOperation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace lockstep;
using namespace mlir;

/// The operation of a body that consists of one operation and a yield of its
/// result; null for other bodies.
static Operation *getOnlyOperation(Block &body) {
  if (!llvm::hasNItems(body, 2) || body.front().getNumResults() != 1)
    return nullptr;
  return body.getTerminator()->getNumOperands() == 1 &&
                 body.getTerminator()->getOperand(0) ==
                     body.front().getResult(0)
             ? &body.front()
             : nullptr;
}

/// The input of `op` that is `value` in its body; null if `value` comes from
/// outside of it.
static OpOperand *getInput(linalg::LinalgOp op, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBlock())
    return nullptr;
  return &op->getOpOperand(argument.getArgNumber());
}

/// Whether each element of the result is computed from the element of each
/// input at the same position, or from the only element of an input.
static bool isElementwise(linalg::LinalgOp op) {
  return op.getNumDpsInits() == 1 && op->getNumResults() == 1 &&
         op.getNumReductionLoops() == 0 &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) {
                        return map.isIdentity() || map.getNumResults() == 0;
                      }) &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity();
}

/// The value of all elements of `tensor`, as a number or a tensor of rank 0;
/// null if they are not known to be equal.
static Value getSplatted(Value tensor) {
  if (cast<RankedTensorType>(tensor.getType()).getRank() == 0)
    return tensor;
  if (auto splat = tensor.getDefiningOp<tensor::SplatOp>())
    return splat.getInput();
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return fill.value();
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  if (!op || !isElementwise(op) || !llvm::hasSingleElement(*op.getBlock()) ||
      op.getBlock()->getTerminator()->getNumOperands() != 1)
    return nullptr;
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  OpOperand *input = getInput(op, yielded);
  if (!input)
    return yielded;
  return op.isDpsInput(input) &&
                 op.getMatchingIndexingMap(input).getNumResults() == 0
             ? input->get()
             : nullptr;
}

std::optional<LinearOperation>
LinearOperation::match(Operation *op, function_ref<bool(Value)> isOperand) {
  if (llvm::none_of(op->getOperands(), isOperand) || op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return std::nullopt;
  LinearOperation linear;
  linear.whole = linear.element = op;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (linalgOp)
    linear.element = isElementwise(linalgOp)
                         ? getOnlyOperation(*linalgOp.getBlock())
                         : nullptr;
  if (!linear.element || linear.element->getNumOperands() > 2)
    return std::nullopt;

  // The operands from outside of a body: tensors, or numbers.
  SmallVector<Value> values;
  for (Value value : linear.element->getOperands()) {
    OpOperand *input = linalgOp ? getInput(linalgOp, value) : nullptr;
    if (input && !linalgOp.isDpsInput(input))
      return std::nullopt;
    values.push_back(input ? input->get() : value);
  }
  auto setFactor = [&](unsigned number) {
    Value value = values[number];
    if (isOperand(value))
      return false;
    linear.factorIsFirst = number == 0;
    linear.operand = values[1 - number];
    if (!isa<RankedTensorType>(value.getType()))
      linear.factor = value;
    else if (DenseElementsAttr constant;
             matchPattern(value, m_Constant(&constant)) && constant.isSplat())
      linear.constantFactor =
          cast<TypedAttr>(constant.getSplatValue<Attribute>());
    else
      linear.factor = getSplatted(value);
    return linear.factor || linear.constantFactor;
  };
  bool matches = false;
  if (isa<arith::NegFOp, arith::ExtFOp, arith::TruncFOp>(linear.element)) {
    linear.operand = values[0];
    matches = true;
  } else if (isa<arith::AddFOp, arith::SubFOp>(linear.element)) {
    linear.operand = values[0];
    linear.other = values[1];
    linear.subtracts = isa<arith::SubFOp>(linear.element);
    auto isTensor = [&](Value value) {
      return value.getType() == op->getResult(0).getType();
    };
    matches = llvm::all_of(values, isTensor);
  } else if (isa<arith::MulFOp>(linear.element)) {
    matches = isOperand(values[0]) ? setFactor(1) : setFactor(0);
  } else if (isa<arith::DivFOp>(linear.element)) {
    matches = setFactor(1) && isOperand(values[0]);
  }
  return matches ? std::optional(linear) : std::nullopt;
}

Value LinearOperation::applyTo(OpBuilder &builder, Value tensor) const {
  Location loc = whole->getLoc();
  auto type = cast<RankedTensorType>(
      cast<RankedTensorType>(tensor.getType())
          .clone(getElementTypeOrSelf(whole->getResult(0).getType())));
  Value init = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, tensor),
      type.getElementType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank()),
            none = AffineMap::get(type.getRank(), 0, builder.getContext());
  SmallVector<Value> inputs{tensor};
  SmallVector<AffineMap> maps{identity};
  bool hasTensor = factor && isa<RankedTensorType>(factor.getType());
  if (hasTensor) {
    inputs.push_back(factor);
    maps.push_back(none);
  }
  maps.push_back(identity);
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange(type), inputs, init, maps, iterators,
             [&](OpBuilder &b, Location, ValueRange in) {
               SmallVector<Value> operands{in[0]};
               if (hasTensor)
                 operands.push_back(in[1]);
               else if (constantFactor)
                 operands.push_back(
                     arith::ConstantOp::create(b, loc, constantFactor));
               else if (factor)
                 operands.push_back(factor);
               if (factorIsFirst)
                 std::swap(operands[0], operands[1]);
               OperationState state(loc, element->getName());
               state.addOperands(operands);
               state.addTypes(type.getElementType());
               state.addAttributes(element->getAttrs());
               linalg::YieldOp::create(b, loc, b.create(state)->getResult(0));
             })
      .getResult(0);
}

//===- VectorBody.cpp - Bodies of generics on vectors ---------------------===//

#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace lockstep;
using namespace mlir;

bool lockstep::isVectorizableBody(linalg::GenericOp op) {
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (isa<arith::ConstantOp, linalg::IndexOp>(inner))
      continue;
    if (!OpTrait::hasElementwiseMappableTraits(&inner) ||
        inner.getNumResults() != 1 || inner.getNumRegions() != 0)
      return false;
    for (Type type : llvm::concat<const Type>(inner.getOperandTypes(),
                                              inner.getResultTypes()))
      if (!isa<FloatType, IntegerType, IndexType>(type))
        return false;
  }
  return llvm::all_of(op.getBlock()->getTerminator()->getOperandTypes(),
                      llvm::IsaPred<FloatType, IntegerType>);
}

Value lockstep::broadcast(OpBuilder &builder, Location loc, Value value,
                          int64_t lanes) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(
      builder, loc, VectorType::get(lanes, value.getType()), value);
}

SmallVector<Value> lockstep::evaluateBody(OpBuilder &builder,
                                          linalg::GenericOp op,
                                          ValueRange arguments, int64_t lanes,
                                          ArrayRef<Value> indices,
                                          unsigned lanesDim) {
  IRMapping mapping;
  for (auto [argument, value] :
       llvm::zip_equal(op.getBlock()->getArguments(), arguments))
    if (value)
      mapping.map(argument, value);
  auto lookup = [&](Value value) {
    return broadcast(builder, op.getLoc(), mapping.lookupOrDefault(value),
                     lanes);
  };
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (isa<arith::ConstantOp>(inner)) {
      builder.clone(inner, mapping);
      continue;
    }
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      Value number = indices[index.getDim()];
      if (!number)
        number = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
      number = broadcast(builder, op.getLoc(), number, lanes);
      if (index.getDim() == lanesDim)
        number = arith::AddIOp::create(
            builder, op.getLoc(), number,
            vector::StepOp::create(builder, op.getLoc(),
                                   cast<VectorType>(number.getType())));
      mapping.map(index.getResult(), number);
      continue;
    }
    OperationState state(inner.getLoc(), inner.getName());
    for (Value operand : inner.getOperands())
      state.addOperands(lookup(operand));
    state.addTypes(VectorType::get(lanes, inner.getResult(0).getType()));
    state.addAttributes(inner.getAttrs());
    mapping.map(inner.getResult(0), builder.create(state)->getResult(0));
  }
  SmallVector<Value> results;
  for (Value yielded : op.getBlock()->getTerminator()->getOperands())
    results.push_back(lookup(yielded));
  return results;
}

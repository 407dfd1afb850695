//===- ImportScalars.cpp - Evaluate StableHLO regions on scalars ----------===//

#include "passes/Import/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// Evaluates rank-0 tensors of one block as scalars, each once.
class ScalarEvaluator {
public:
  ScalarEvaluator(OpBuilder &builder, Block &body, ValueRange arguments)
      : builder(builder), body(body) {
    for (auto [argument, scalar] :
         llvm::zip_equal(body.getArguments(), arguments))
      scalars.map(argument, scalar);
  }

  /// The element of `tensor`, a value of the block or from outside of it.
  Value getScalar(Value tensor) {
    if (Value scalar = scalars.lookupOrNull(tensor))
      return scalar;
    Operation *op = tensor.getDefiningOp();
    if (!op || op->getBlock() != &body)
      return extract(tensor);
    if (auto generic = dyn_cast<linalg::GenericOp>(op);
        generic && generic.getNumLoops() == 0)
      inlineGeneric(generic);
    else if (auto elements = dyn_cast<tensor::FromElementsOp>(op))
      scalars.map(tensor, lookup(elements.getElements().front()));
    else
      return extract(
          cloneOnTensors(op, cast<OpResult>(tensor).getResultNumber()));
    return scalars.lookup(tensor);
  }

private:
  Value extract(Value tensor) {
    DenseElementsAttr constant;
    if (matchPattern(tensor, m_Constant(&constant)))
      return arith::ConstantOp::create(builder, tensor.getLoc(),
                                       constant.getSplatValue<TypedAttr>());
    return tensor::ExtractOp::create(builder, tensor.getLoc(), tensor,
                                     ValueRange());
  }

  /// The copy of a value that an operation of the block uses, or the value
  /// itself if it is from outside.
  Value lookup(Value value) { return values.lookupOrDefault(value); }

  /// Copies the body of a linalg operation without loops, which computes its
  /// results on scalars.
  void inlineGeneric(linalg::GenericOp generic) {
    IRMapping mapping;
    for (auto [argument, operand] : llvm::zip_equal(
             generic.getBody()->getArguments(), generic->getOperands()))
      if (!argument.use_empty())
        mapping.map(argument, getScalar(operand));
    for (Operation &op : generic.getBody()->without_terminator())
      builder.clone(op, mapping);
    for (auto [result, yielded] :
         llvm::zip_equal(generic.getResults(),
                         generic.getBody()->getTerminator()->getOperands()))
      scalars.map(result, mapping.lookupOrDefault(yielded));
  }

  /// Copies an operation of any other kind, with tensors made of the scalars
  /// that it uses.
  Value cloneOnTensors(Operation *op, unsigned result) {
    if (Value copied = values.lookupOrNull(op->getResult(result)))
      return copied;
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands()) {
        Operation *source = operand.getDefiningOp();
        if (operand.getParentBlock() != &body || values.contains(operand))
          continue;
        if (auto type = dyn_cast<RankedTensorType>(operand.getType());
            type && type.getRank() == 0)
          values.map(operand,
                     tensor::FromElementsOp::create(builder, operand.getLoc(),
                                                    type, getScalar(operand)));
        else if (source)
          cloneOnTensors(source, cast<OpResult>(operand).getResultNumber());
      }
    });
    return builder.clone(*op, values)->getResult(result);
  }

  OpBuilder &builder;
  Block &body;
  /// Maps rank-0 tensors of the block to their elements.
  IRMapping scalars;
  /// Maps values of the block to copies of the same type.
  IRMapping values;
};

} // namespace

SmallVector<Value> stablehlo::inlineOnScalars(OpBuilder &builder, Block &body,
                                              ValueRange arguments) {
  ScalarEvaluator evaluator(builder, body, arguments);
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value result) { return evaluator.getScalar(result); });
}

Value stablehlo::getIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

SmallVector<Value> stablehlo::buildLoops(
    OpBuilder &builder, Location loc, ArrayRef<int64_t> sizes,
    ValueRange carried,
    function_ref<SmallVector<Value>(OpBuilder &, ValueRange, ValueRange)>
        body) {
  SmallVector<Value> lower, upper, step;
  Value zero = getIndex(builder, loc, 0);
  for (int64_t size : sizes) {
    if (size == 1)
      continue;
    lower.push_back(zero);
    upper.push_back(getIndex(builder, loc, size));
    step.push_back(getIndex(builder, loc, 1));
  }
  auto buildBody = [&](OpBuilder &nested, Location, ValueRange ivs,
                       ValueRange arguments) {
    SmallVector<Value> all;
    for (int64_t size : sizes) {
      all.push_back(size == 1 ? zero : ivs.front());
      if (size != 1)
        ivs = ivs.drop_front();
    }
    return scf::ValueVector(body(nested, all, arguments));
  };
  return scf::buildLoopNest(builder, loc, lower, upper, step, carried,
                            buildBody)
      .results;
}

//===- Combiner.cpp - The combining operation of a reduction --------------===//

#include "passes/Codegen/Combiner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace lockstep;
using namespace mlir;

Value Combiner::combine(OpBuilder &builder, Location loc, Value a,
                        Value b) const {
  OperationState state(loc, name);
  state.addOperands({a, b});
  state.addTypes(a.getType());
  return builder.create(state)->getResult(0);
}

std::optional<Combiner> lockstep::matchCombiner(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1)
    return std::nullopt;
  Operation *last =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  Value accumulator = op.getRegionOutputArgs()[0];
  if (!last || last->getBlock() != op.getBlock() || !accumulator.hasOneUse() ||
      *accumulator.user_begin() != last)
    return std::nullopt;
  if (auto fma = dyn_cast<math::FmaOp>(last)) {
    if (fma.getC() != accumulator)
      return std::nullopt;
    OpBuilder builder(op.getContext());
    return Combiner{
        OperationName(arith::AddFOp::getOperationName(), op.getContext()),
        builder.getFloatAttr(accumulator.getType(), -0.0)};
  }
  if (!isa<arith::AddFOp, arith::AddIOp, arith::MulFOp, arith::MulIOp,
           arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
           arith::MinNumFOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp,
           arith::MinUIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(last))
    return std::nullopt;
  std::optional<TypedAttr> neutral = arith::getNeutralElement(last);
  if (!neutral)
    return std::nullopt;
  return Combiner{last->getName(), *neutral};
}

Value lockstep::combineLanes(OpBuilder &builder, Location loc,
                             const Combiner &combiner, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  for (int64_t lanes = type.getNumElements() / 2; lanes > 0; lanes /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < lanes; ++i) {
      low.push_back(i);
      high.push_back(lanes + i);
    }
    Value a = vector::ShuffleOp::create(builder, loc, vector, vector, low);
    Value b = vector::ShuffleOp::create(builder, loc, vector, vector, high);
    vector = combiner.combine(builder, loc, a, b);
  }
  return vector::ExtractOp::create(builder, loc, vector, 0);
}

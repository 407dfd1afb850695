//===- ImportSelectAndScatter.cpp - Import select_and_scatter -------------===//

#include "passes/Import/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// Lowers the gradient of a pooling to loops: each element of `source` is
/// scattered to the position of the operand that its window selects. Windows,
/// and the positions in a window, are visited in row-major order.
class SelectAndScatter {
public:
  explicit SelectAndScatter(Operation *op)
      : op(op), operand(op->getOperand(0)), source(op->getOperand(1)) {}

  LogicalResult import();

private:
  LogicalResult readWindow();
  /// The position in the operand of position `windowIvs` in the window
  /// `sourceIvs`, and whether it is inside of the operand (null: always).
  std::pair<SmallVector<Value>, Value>
  getPlace(OpBuilder &builder, ValueRange sourceIvs, ValueRange windowIvs);
  /// Visits a position. `best` consists of whether a position has been
  /// selected, its value and its indices. Returns the new `best`.
  SmallVector<Value> visit(OpBuilder &builder, ValueRange sourceIvs,
                           ValueRange windowIvs, ValueRange best);
  SmallVector<Value> scatter(OpBuilder &builder, ValueRange sourceIvs,
                             ValueRange best, Value result);

  RankedTensorType getOperandType() const {
    return cast<RankedTensorType>(operand.getType());
  }
  RankedTensorType getSourceType() const {
    return cast<RankedTensorType>(source.getType());
  }

  Operation *op;
  Value operand, source;
  SmallVector<int64_t> sizes, strides, low;
  /// Whether a window may extend beyond the operand in a dimension.
  SmallVector<bool> overhangs;
};

} // namespace

LogicalResult SelectAndScatter::readWindow() {
  unsigned rank = getOperandType().getRank();
  sizes = stablehlo::getIntegers(op, "window_dimensions");
  strides = stablehlo::getIntegers(op, "window_strides");
  SmallVector<int64_t> padding = stablehlo::getIntegers(op, "padding");
  if (sizes.empty())
    sizes.assign(rank, 1);
  if (strides.empty())
    strides.assign(rank, 1);
  if (padding.empty())
    padding.assign(2 * rank, 0);
  if (sizes.size() != rank || strides.size() != rank ||
      padding.size() != 2 * rank ||
      getSourceType().getRank() != getOperandType().getRank())
    return stablehlo::emitCannotImport(op)
           << ": expected a window of " << rank << " dimensions";
  for (unsigned d = 0; d < rank; ++d) {
    low.push_back(padding[2 * d]);
    int64_t last = (getSourceType().getDimSize(d) - 1) * strides[d] + sizes[d] -
                   1 - low[d];
    overhangs.push_back(low[d] > 0 || last >= getOperandType().getDimSize(d));
  }
  return success();
}

std::pair<SmallVector<Value>, Value>
SelectAndScatter::getPlace(OpBuilder &builder, ValueRange sourceIvs,
                           ValueRange windowIvs) {
  Location loc = op->getLoc();
  SmallVector<Value> place;
  Value inside;
  for (auto [d, sourceIv, windowIv] : llvm::enumerate(sourceIvs, windowIvs)) {
    Value index = arith::MulIOp::create(
        builder, loc, sourceIv, stablehlo::getIndex(builder, loc, strides[d]));
    index = arith::AddIOp::create(builder, loc, index, windowIv);
    if (low[d] != 0)
      index = arith::SubIOp::create(builder, loc, index,
                                    stablehlo::getIndex(builder, loc, low[d]));
    place.push_back(index);
    if (!overhangs[d])
      continue;
    // Compared as unsigned, a negative index is too large.
    Value fits = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, index,
        stablehlo::getIndex(builder, loc, getOperandType().getDimSize(d)));
    inside = inside
                 ? arith::AndIOp::create(builder, loc, inside, fits).getResult()
                 : fits;
  }
  return {place, inside};
}

SmallVector<Value> SelectAndScatter::visit(OpBuilder &builder,
                                           ValueRange sourceIvs,
                                           ValueRange windowIvs,
                                           ValueRange best) {
  Location loc = op->getLoc();
  auto [place, inside] = getPlace(builder, sourceIvs, windowIvs);
  auto select = [&, &place = place](OpBuilder &nested) {
    Value value = tensor::ExtractOp::create(nested, loc, operand, place);
    Value isBetter = stablehlo::inlineOnScalars(
                         nested, op->getRegion(0).front(), {best[1], value})
                         .front();
    Value keep = arith::AndIOp::create(nested, loc, best[0], isBetter);
    SmallVector<Value> next = {
        arith::ConstantOp::create(nested, loc, nested.getBoolAttr(true))};
    next.push_back(arith::SelectOp::create(nested, loc, keep, best[1], value));
    for (auto [old, current] : llvm::zip_equal(best.drop_front(2), place))
      next.push_back(arith::SelectOp::create(nested, loc, keep, old, current));
    return next;
  };
  if (!inside)
    return select(builder);
  auto ifOp = scf::IfOp::create(
      builder, loc, inside,
      [&](OpBuilder &nested, Location) {
        scf::YieldOp::create(nested, loc, select(nested));
      },
      [&](OpBuilder &nested, Location) {
        scf::YieldOp::create(nested, loc, best);
      });
  return ifOp.getResults();
}

SmallVector<Value> SelectAndScatter::scatter(OpBuilder &builder,
                                             ValueRange sourceIvs,
                                             ValueRange best, Value result) {
  Location loc = op->getLoc();
  auto add = [&](OpBuilder &nested) -> Value {
    Value current =
        tensor::ExtractOp::create(nested, loc, result, best.drop_front(2));
    Value value = tensor::ExtractOp::create(nested, loc, source, sourceIvs);
    Value sum = stablehlo::inlineOnScalars(nested, op->getRegion(1).front(),
                                           {value, current})
                    .front();
    return tensor::InsertOp::create(nested, loc, sum, result,
                                    best.drop_front(2));
  };
  if (!llvm::is_contained(overhangs, true))
    return {add(builder)};
  // A window may be completely in the padding.
  auto ifOp = scf::IfOp::create(
      builder, loc, best.front(),
      [&](OpBuilder &nested, Location) {
        scf::YieldOp::create(nested, loc, add(nested));
      },
      [&](OpBuilder &nested, Location) {
        scf::YieldOp::create(nested, loc, result);
      });
  return ifOp.getResults();
}

LogicalResult SelectAndScatter::import() {
  if (failed(stablehlo::verifyStaticShapes(op)) || failed(readWindow()))
    return failure();
  Location loc = op->getLoc();
  OpBuilder builder(op);
  Value initial =
      tensor::ExtractOp::create(builder, loc, op->getOperand(2), ValueRange());
  Value empty =
      tensor::EmptyOp::create(builder, loc, getOperandType().getShape(),
                              getOperandType().getElementType());
  Value filled =
      linalg::FillOp::create(builder, loc, initial, empty).getResult(0);
  auto body = [&](OpBuilder &outer, ValueRange sourceIvs, ValueRange results) {
    Value zero = stablehlo::getIndex(outer, loc, 0);
    SmallVector<Value> none(2 + getOperandType().getRank(), zero);
    none[0] = arith::ConstantOp::create(outer, loc, outer.getBoolAttr(false));
    none[1] = arith::ConstantOp::create(
        outer, loc, outer.getZeroAttr(getOperandType().getElementType()));
    SmallVector<Value> best = stablehlo::buildLoops(
        outer, loc, sizes, none,
        [&](OpBuilder &inner, ValueRange windowIvs, ValueRange carried) {
          return visit(inner, sourceIvs, windowIvs, carried);
        });
    return scatter(outer, sourceIvs, best, results.front());
  };
  op->replaceAllUsesWith(stablehlo::buildLoops(
      builder, loc, getSourceType().getShape(), filled, body));
  op->erase();
  return success();
}

LogicalResult stablehlo::importSelectAndScatter(Operation *op) {
  if (op->getNumOperands() != 3)
    return emitCannotImport(op)
           << ": expected 3 operands, found " << op->getNumOperands();
  if (failed(verifyComputation(op, 0, 2, 1)) ||
      failed(verifyComputation(op, 1, 2, 1)))
    return failure();
  return SelectAndScatter(op).import();
}

//===- ImportSort.cpp - Import stablehlo.sort -----------------------------===//

#include "passes/Import/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// A stable bottom-up merge sort of the rows along one dimension: passes of
/// doubling width merge adjacent runs of `rows` into `scratch`, and those into
/// `rows`, in O(n log n).
/// Each row is sorted by the same sequence of merges, whatever its position.
class Sort {
public:
  Sort(Operation *op, int64_t dimension) : op(op), dimension(dimension) {}

  void import();

private:
  SmallVector<Value> sortRows(OpBuilder &builder, ValueRange ivs,
                              ValueRange tensors);
  SmallVector<Value> mergeAll(OpBuilder &builder, Value width, ValueRange rows,
                              ValueRange scratch);
  SmallVector<Value> mergeRuns(OpBuilder &builder, Value low, Value width,
                               ValueRange rows, ValueRange scratch);
  SmallVector<Value> mergeStep(OpBuilder &builder, Value k,
                               ArrayRef<Value> ends, ValueRange state,
                               ValueRange rows);

  /// Size of a row.
  int64_t getSize() const {
    return cast<RankedTensorType>(op->getOperand(0).getType())
        .getDimSize(dimension);
  }

  Operation *op;
  int64_t dimension;
};

} // namespace

/// Takes the next element of the result from the left run or the right one.
/// `state` is the next index in each, and the results; `ends` are the ends of
/// the runs.
SmallVector<Value> Sort::mergeStep(OpBuilder &builder, Value k,
                                   ArrayRef<Value> ends, ValueRange state,
                                   ValueRange rows) {
  Location loc = op->getLoc();
  Value last = stablehlo::getIndex(builder, loc, getSize() - 1),
        one = stablehlo::getIndex(builder, loc, 1);
  Value hasLeft = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        state[0], ends[0]);
  Value hasRight = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, state[1], ends[1]);
  // An element behind the end of a run may be read, but is not used.
  Value leftIndex = arith::MinSIOp::create(builder, loc, state[0], last);
  Value rightIndex = arith::MinSIOp::create(builder, loc, state[1], last);
  SmallVector<Value> left, right, arguments;
  for (Value row : rows) {
    left.push_back(tensor::ExtractOp::create(builder, loc, row, leftIndex));
    right.push_back(tensor::ExtractOp::create(builder, loc, row, rightIndex));
    arguments.append({right.back(), left.back()});
  }
  // The right element goes first only if it is less: so equal elements keep
  // their order.
  Value isLess =
      stablehlo::inlineOnScalars(builder, op->getRegion(0).front(), arguments)
          .front();
  Value noLeft = arith::XOrIOp::create(
      builder, loc, hasLeft,
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
  Value takeRight =
      arith::AndIOp::create(builder, loc, hasRight,
                            arith::OrIOp::create(builder, loc, noLeft, isLess));
  Value leftNext = arith::AddIOp::create(builder, loc, state[0], one);
  Value rightNext = arith::AddIOp::create(builder, loc, state[1], one);
  SmallVector<Value> next = {
      arith::SelectOp::create(builder, loc, takeRight, state[0], leftNext),
      arith::SelectOp::create(builder, loc, takeRight, rightNext, state[1])};
  for (auto [l, r, target] :
       llvm::zip_equal(left, right, state.drop_front(2))) {
    Value taken = arith::SelectOp::create(builder, loc, takeRight, r, l);
    next.push_back(tensor::InsertOp::create(builder, loc, taken, target, k));
  }
  return next;
}

/// Merges the runs [low, low + width) and [low + width, low + 2 width) of the
/// rows, cut at their size.
SmallVector<Value> Sort::mergeRuns(OpBuilder &builder, Value low, Value width,
                                   ValueRange rows, ValueRange scratch) {
  Location loc = op->getLoc();
  Value size = stablehlo::getIndex(builder, loc, getSize());
  auto cut = [&](Value start) -> Value {
    return arith::MinSIOp::create(
        builder, loc, arith::AddIOp::create(builder, loc, start, width), size);
  };
  Value middle = cut(low);
  Value high = cut(middle);
  SmallVector<Value> state = {low, middle};
  llvm::append_range(state, scratch);
  auto loop = scf::ForOp::create(
      builder, loc, low, high, stablehlo::getIndex(builder, loc, 1), state,
      [&](OpBuilder &nested, Location, Value k, ValueRange carried) {
        scf::YieldOp::create(
            nested, loc, mergeStep(nested, k, {middle, high}, carried, rows));
      });
  return llvm::to_vector<4>(ValueRange(loop.getResults()).drop_front(2));
}

/// One pass: merges all pairs of runs of `width` into the scratch space, which
/// it returns.
SmallVector<Value> Sort::mergeAll(OpBuilder &builder, Value width,
                                  ValueRange rows, ValueRange scratch) {
  Location loc = op->getLoc();
  Value zero = stablehlo::getIndex(builder, loc, 0),
        size = stablehlo::getIndex(builder, loc, getSize());
  Value twice = arith::AddIOp::create(builder, loc, width, width);
  auto loop = scf::ForOp::create(
      builder, loc, zero, size, twice, scratch,
      [&](OpBuilder &nested, Location, Value low, ValueRange carried) {
        scf::YieldOp::create(nested, loc,
                             mergeRuns(nested, low, width, rows, carried));
      });
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> Sort::sortRows(OpBuilder &builder, ValueRange ivs,
                                  ValueRange tensors) {
  Location loc = op->getLoc();
  SmallVector<OpFoldResult> offsets, sizes,
      strides(ivs.size(), builder.getIndexAttr(1));
  for (auto [d, iv] : llvm::enumerate(ivs)) {
    bool isRow = static_cast<int64_t>(d) == dimension;
    offsets.push_back(isRow ? OpFoldResult(builder.getIndexAttr(0))
                            : OpFoldResult(iv));
    sizes.push_back(builder.getIndexAttr(isRow ? getSize() : 1));
  }
  SmallVector<Value> state;
  for (Value tensor : tensors) {
    auto type = RankedTensorType::get({getSize()},
                                      getElementTypeOrSelf(tensor.getType()));
    state.push_back(tensor::ExtractSliceOp::create(builder, loc, type, tensor,
                                                   offsets, sizes, strides));
  }
  // The scratch space is initialized with the rows: CSE would merge empty
  // tensors, and bufferization would then use one buffer for all operands.
  llvm::append_range(state, llvm::to_vector(state));

  Value one = stablehlo::getIndex(builder, loc, 1);
  Value two = stablehlo::getIndex(builder, loc, 2);
  // The number of passes is even: the last one may find a single run.
  Value passes = stablehlo::getIndex(
      builder, loc, llvm::Log2_64_Ceil(std::max<int64_t>(getSize(), 1)));
  auto loop = scf::ForOp::create(
      builder, loc, stablehlo::getIndex(builder, loc, 0), passes, two, state,
      [&](OpBuilder &nested, Location, Value pass, ValueRange carried) {
        Value width = arith::ShLIOp::create(nested, loc, one, pass);
        Value twice = arith::AddIOp::create(nested, loc, width, width);
        ValueRange rows = carried.take_front(carried.size() / 2);
        SmallVector<Value> scratch =
            mergeAll(nested, width, rows, carried.drop_front(rows.size()));
        SmallVector<Value> next = mergeAll(nested, twice, scratch, rows);
        llvm::append_range(next, scratch);
        scf::YieldOp::create(nested, loc, next);
      });
  SmallVector<Value> sorted;
  for (auto [row, tensor] : llvm::zip(loop.getResults(), tensors))
    sorted.push_back(tensor::InsertSliceOp::create(builder, loc, row, tensor,
                                                   offsets, sizes, strides));
  return sorted;
}

void Sort::import() {
  OpBuilder builder(op);
  SmallVector<int64_t> sizes(
      cast<RankedTensorType>(op->getOperand(0).getType()).getShape());
  sizes[dimension] = 1;
  op->replaceAllUsesWith(stablehlo::buildLoops(
      builder, op->getLoc(), sizes, op->getOperands(),
      [&](OpBuilder &nested, ValueRange ivs, ValueRange tensors) {
        return sortRows(nested, ivs, tensors);
      }));
  op->erase();
}

LogicalResult stablehlo::importSort(Operation *op) {
  if (op->getNumOperands() == 0)
    return emitCannotImport(op) << ": expected operands";
  if (failed(verifyStaticShapes(op)) ||
      failed(verifyComputation(op, 0, 2 * op->getNumOperands(), 1)))
    return failure();
  int64_t rank = cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
  auto attribute = op->getAttrOfType<IntegerAttr>("dimension");
  int64_t dimension = attribute ? attribute.getInt() : rank - 1;
  if (dimension < 0)
    dimension += rank;
  if (dimension < 0 || dimension >= rank)
    return emitCannotImport(op) << ": expected a dimension in [0, " << rank
                                << "), found " << dimension;
  Sort(op, dimension).import();
  return success();
}

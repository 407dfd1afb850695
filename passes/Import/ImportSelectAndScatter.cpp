//===- ImportSelectAndScatter.cpp - Import select_and_scatter -------------===//

#include "passes/Import/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// Lowers the gradient of a pooling: each element of `source` is scattered to
/// the position of the operand that its window selects. Windows, and the
/// positions in a window, are visited in row-major order.
///
/// Where few windows have an element in common, each element of the result
/// gathers those of `source`, so that all elements may be computed at the same
/// time. Otherwise, loops scatter.
class SelectAndScatter {
public:
  explicit SelectAndScatter(Operation *op)
      : op(op), operand(op->getOperand(0)), source(op->getOperand(1)) {}

  LogicalResult import();

private:
  LogicalResult readWindow();
  void importAsLoops();
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

  //===--------------------------------------------------------------------===//
  // By element of the result
  //===--------------------------------------------------------------------===//

  /// A window that may have an element, in one dimension.
  struct Candidate {
    /// Of the window, 0 if there is none, and of the element in it.
    Value window, position;
    /// Whether there is such a window; null: always.
    Value exists;
  };

  bool isGathered() const;
  void importAsGather();
  /// The number of the position that each window selects; -1 if it is
  /// completely in the padding.
  Value selectPositions();
  /// The number of windows that have an element in common in a dimension.
  int64_t countCandidates(unsigned d) const {
    return llvm::divideCeil(sizes[d], strides[d]);
  }
  /// The windows with element `index` of the operand in dimension d, in
  /// ascending order.
  SmallVector<Candidate> getCandidates(OpBuilder &builder, unsigned d,
                                       Value index);
  /// Adds what is gathered from one window to `sum`.
  Value gather(OpBuilder &builder, ArrayRef<Candidate> window, Value selected,
               Value sum);
  Value both(OpBuilder &builder, Value a, Value b) {
    return !a   ? b
           : !b ? a
                : Value(arith::AndIOp::create(builder, op->getLoc(), a, b));
  }

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

void SelectAndScatter::importAsLoops() {
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
}

/// Calls `body` for each position of a box of these sizes, in row-major order.
static void forEachPosition(ArrayRef<int64_t> sizes,
                            llvm::function_ref<void(ArrayRef<int64_t>)> body) {
  SmallVector<int64_t> strides = computeStrides(sizes);
  for (int64_t i = 0, count = computeProduct(sizes); i < count; ++i)
    body(delinearize(i, strides));
}

/// The numbers of positions in a window, and of windows that have an element in
/// common, for which the code is written out.
static constexpr int64_t kMostPositions = 64, kMostCandidates = 16;

bool SelectAndScatter::isGathered() const {
  int64_t candidates = 1;
  for (unsigned d = 0; d < sizes.size(); ++d)
    candidates *= countCandidates(d);
  return computeProduct(sizes) <= kMostPositions &&
         candidates <= kMostCandidates &&
         getSourceType().getNumElements() > 0 &&
         getOperandType().getNumElements() > 0 &&
         llvm::all_of(low, [](int64_t count) { return count >= 0; });
}

Value SelectAndScatter::selectPositions() {
  Location loc = op->getLoc();
  OpBuilder builder(op);
  Type i8 = builder.getI8Type();
  RankedTensorType type = getSourceType();
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), i8);
  auto map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location, ValueRange) {
    SmallVector<Value> windows;
    for (int64_t d = 0; d < type.getRank(); ++d)
      windows.push_back(linalg::IndexOp::create(nested, loc, d));
    Value zero = stablehlo::getIndex(nested, loc, 0), isSelected, best,
          selected = arith::ConstantOp::create(nested, loc,
                                               nested.getI8IntegerAttr(-1));
    int8_t number = 0;
    forEachPosition(sizes, [&](ArrayRef<int64_t> position) {
      SmallVector<Value> offsets =
          llvm::map_to_vector(position, [&](int64_t offset) -> Value {
            return stablehlo::getIndex(nested, loc, offset);
          });
      auto [place, inside] = getPlace(nested, windows, offsets);
      if (inside)
        for (auto [d, index] : llvm::enumerate(place))
          if (overhangs[d])
            index = arith::SelectOp::create(nested, loc, inside, index, zero);
      Value value = tensor::ExtractOp::create(nested, loc, operand, place),
            own = arith::ConstantOp::create(nested, loc,
                                            nested.getI8IntegerAttr(number++));
      if (!best) {
        best = value;
        isSelected = inside;
        selected = inside ? Value(arith::SelectOp::create(nested, loc, inside,
                                                          own, selected))
                          : own;
        return;
      }
      // Kept if something has been selected, and is not worse.
      Value isKept = both(nested, isSelected,
                          stablehlo::inlineOnScalars(
                              nested, op->getRegion(0).front(), {best, value})
                              .front());
      if (inside) {
        Value isOutside = arith::XOrIOp::create(
            nested, loc, inside,
            arith::ConstantOp::create(nested, loc, nested.getBoolAttr(true)));
        isKept = arith::OrIOp::create(nested, loc, isKept, isOutside);
      }
      best = arith::SelectOp::create(nested, loc, isKept, best, value);
      selected = arith::SelectOp::create(nested, loc, isKept, selected, own);
      if (isSelected)
        isSelected =
            inside
                ? Value(arith::OrIOp::create(nested, loc, isSelected, inside))
                : Value();
    });
    linalg::YieldOp::create(nested, loc, selected);
  };
  return linalg::GenericOp::create(builder, loc, empty.getType(), ValueRange(),
                                   empty, map, loops, body)
      .getResult(0);
}

SmallVector<SelectAndScatter::Candidate>
SelectAndScatter::getCandidates(OpBuilder &builder, unsigned d, Value index) {
  Location loc = op->getLoc();
  auto constant = [&](int64_t value) -> Value {
    return stablehlo::getIndex(builder, loc, value);
  };
  int64_t windows = getSourceType().getDimSize(d),
          last = (getOperandType().getDimSize(d) - 1 + low[d]) / strides[d];
  Value place = index, first = index, rest = constant(0);
  if (low[d] != 0)
    first = place =
        arith::AddIOp::create(builder, loc, place, constant(low[d]));
  if (strides[d] != 1) {
    first = arith::DivUIOp::create(builder, loc, place, constant(strides[d]));
    rest = arith::RemUIOp::create(builder, loc, place, constant(strides[d]));
  }
  SmallVector<Candidate> found;
  for (int64_t back = countCandidates(d) - 1; back >= 0; --back) {
    Candidate candidate{first, rest, {}};
    if (back > 0) {
      candidate.window =
          arith::SubIOp::create(builder, loc, first, constant(back));
      candidate.position = arith::AddIOp::create(builder, loc, rest,
                                                 constant(back * strides[d]));
    }
    if ((back + 1) * strides[d] > sizes[d])
      candidate.exists =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                candidate.position, constant(sizes[d]));
    // Compared as unsigned, a negative number is too large.
    if (back > 0 || last >= windows)
      candidate.exists =
          both(builder, candidate.exists,
               arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                     candidate.window, constant(windows)));
    if (candidate.exists)
      candidate.window = arith::SelectOp::create(builder, loc, candidate.exists,
                                                 candidate.window, constant(0));
    found.push_back(candidate);
  }
  return found;
}

Value SelectAndScatter::gather(OpBuilder &builder, ArrayRef<Candidate> window,
                               Value selected, Value sum) {
  Location loc = op->getLoc();
  SmallVector<Value> place;
  Value exists, number = stablehlo::getIndex(builder, loc, 0);
  for (auto [d, candidate] : llvm::enumerate(window)) {
    place.push_back(candidate.window);
    exists = both(builder, exists, candidate.exists);
    number = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, number,
                              stablehlo::getIndex(builder, loc, sizes[d])),
        candidate.position);
  }
  Value isOwn = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq,
      tensor::ExtractOp::create(builder, loc, selected, place),
      arith::IndexCastOp::create(builder, loc, builder.getI8Type(), number));
  Value value = tensor::ExtractOp::create(builder, loc, source, place);
  Value next = stablehlo::inlineOnScalars(builder, op->getRegion(1).front(),
                                          {value, sum})
                   .front();
  return arith::SelectOp::create(builder, loc, both(builder, exists, isOwn),
                                 next, sum);
}

void SelectAndScatter::importAsGather() {
  Location loc = op->getLoc();
  Value selected = selectPositions();
  OpBuilder builder(op);
  RankedTensorType type = getOperandType();
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  SmallVector<AffineMap> maps = {
      AffineMap::get(type.getRank(), 0, op->getContext()),
      builder.getMultiDimIdentityMap(type.getRank())};
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  SmallVector<int64_t> counts;
  for (int64_t d = 0; d < type.getRank(); ++d)
    counts.push_back(countCandidates(d));
  auto body = [&](OpBuilder &nested, Location, ValueRange arguments) {
    SmallVector<SmallVector<Candidate>> candidates;
    for (int64_t d = 0; d < type.getRank(); ++d)
      candidates.push_back(
          getCandidates(nested, d, linalg::IndexOp::create(nested, loc, d)));
    Value sum = arguments.front();
    forEachPosition(counts, [&](ArrayRef<int64_t> numbers) {
      SmallVector<Candidate> window;
      for (auto [d, number] : llvm::enumerate(numbers))
        window.push_back(candidates[d][number]);
      sum = gather(nested, window, selected, sum);
    });
    linalg::YieldOp::create(nested, loc, sum);
  };
  op->replaceAllUsesWith(
      linalg::GenericOp::create(builder, loc, empty.getType(),
                                op->getOperand(2), empty, maps, loops, body));
}

LogicalResult SelectAndScatter::import() {
  if (failed(stablehlo::verifyStaticShapes(op)) || failed(readWindow()))
    return failure();
  if (isGathered())
    importAsGather();
  else
    importAsLoops();
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

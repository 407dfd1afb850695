//===- ImportScatter.cpp - Import stablehlo.scatter -----------------------===//

#include "passes/Import/StableHLO.h"
#include "passes/Lower/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// Lowers a scatter to loops, if it is none that selects one element of each
/// batch: for each scatter index, in row-major order, a window of `updates` is
/// combined with the window of the `inputs` that the index selects. Names of
/// dimensions are those of the StableHLO specification.
class Scatter {
public:
  explicit Scatter(Operation *op) : op(op) {
    unsigned count = op->getNumOperands() / 2;
    inputs = op->getOperands().take_front(count);
    indices = op->getOperand(count);
    updates = op->getOperands().drop_front(count + 1);
  }

  LogicalResult import();

private:
  /// Reads the dimension numbers, and checks that they fit the operands.
  LogicalResult readDimensions();
  bool dimensionsFit() const;
  SmallVector<Value> buildUpdates(OpBuilder &builder, ValueRange scatterIvs,
                                  ValueRange results);
  SmallVector<Value> buildWindow(OpBuilder &builder, ValueRange scatterIvs,
                                 ArrayRef<Value> starts, ValueRange results);
  /// The start of the window in each dimension of the inputs; null for
  /// dimensions where it is 0 by construction.
  SmallVector<Value> getStarts(OpBuilder &builder, ValueRange scatterIvs);
  /// An i1: whether the whole window is inside of the inputs; null: always.
  Value isInside(OpBuilder &builder, ArrayRef<Value> starts);

  /// Whether an element of the input has at most one update, that of the same
  /// batch: the gradient of elements that are taken along an axis.
  bool updatesOneOfEachBatch() const;
  /// Imports such a scatter into a tensor whose elements are all `value`: no
  /// loop over the updates is needed.
  void importSelection(TypedAttr value);
  /// The dimension of the indices for one of `updateScatterDims`.
  int64_t getIndexDim(int64_t scatterDim) const {
    return scatterDim < indexVectorDim ? scatterDim : scatterDim + 1;
  }
  /// The dimension of the input that it is a batch of; none if it is of none.
  std::optional<int64_t> getBatchDim(int64_t scatterDim) const;

  RankedTensorType getInputType() const {
    return cast<RankedTensorType>(inputs.front().getType());
  }
  RankedTensorType getIndicesType() const {
    return cast<RankedTensorType>(indices.getType());
  }
  RankedTensorType getUpdateType() const {
    return cast<RankedTensorType>(updates.front().getType());
  }

  Operation *op;
  ValueRange inputs, updates;
  Value indices;
  SmallVector<int64_t> updateWindowDims, insertedWindowDims, inputBatchingDims,
      indicesBatchingDims, toOperandDims;
  int64_t indexVectorDim = 0;
  /// Dimensions of an update that are not window dimensions.
  SmallVector<int64_t> updateScatterDims;
  /// Dimensions of an input that the window spans, in the order of
  /// `updateWindowDims`.
  SmallVector<int64_t> inputWindowDims;
  /// Sizes of the window in every dimension of an input.
  SmallVector<int64_t> windowSizes;
};

} // namespace

bool Scatter::dimensionsFit() const {
  auto areDims = [](ArrayRef<int64_t> dims, int64_t rank) {
    return llvm::all_of(dims, [&](int64_t d) { return d >= 0 && d < rank; });
  };
  int64_t indexRank = getIndicesType().getRank();
  bool hasVector = indexVectorDim < indexRank;
  int64_t indexSize =
      hasVector ? getIndicesType().getDimSize(indexVectorDim) : 1;
  size_t scatterRank = hasVector ? indexRank - 1 : indexRank;
  return indexVectorDim >= 0 && indexVectorDim <= indexRank &&
         areDims(updateWindowDims, getUpdateType().getRank()) &&
         areDims(toOperandDims, getInputType().getRank()) &&
         areDims(inputBatchingDims, getInputType().getRank()) &&
         areDims(indicesBatchingDims, indexRank) &&
         !llvm::is_contained(indicesBatchingDims, indexVectorDim) &&
         inputBatchingDims.size() == indicesBatchingDims.size() &&
         inputWindowDims.size() == updateWindowDims.size() &&
         indexSize == static_cast<int64_t>(toOperandDims.size()) &&
         scatterRank == updateScatterDims.size();
}

LogicalResult Scatter::readDimensions() {
  FailureOr<stablehlo::Parameters> parameters =
      stablehlo::parseParameters(op, "scatter_dimension_numbers", "scatter");
  if (failed(parameters))
    return failure();
  updateWindowDims = parameters->lookup("update_window_dims");
  insertedWindowDims = parameters->lookup("inserted_window_dims");
  inputBatchingDims = parameters->lookup("input_batching_dims");
  indicesBatchingDims = parameters->lookup("scatter_indices_batching_dims");
  toOperandDims = parameters->lookup("scatter_dims_to_operand_dims");
  SmallVector<int64_t> vectorDim = parameters->lookup("index_vector_dim");
  indexVectorDim = vectorDim.empty() ? 0 : vectorDim.front();

  for (int64_t d = 0; d < getUpdateType().getRank(); ++d)
    if (!llvm::is_contained(updateWindowDims, d))
      updateScatterDims.push_back(d);
  for (int64_t d = 0; d < getInputType().getRank(); ++d)
    if (!llvm::is_contained(insertedWindowDims, d) &&
        !llvm::is_contained(inputBatchingDims, d))
      inputWindowDims.push_back(d);
  if (!dimensionsFit())
    return stablehlo::emitCannotImport(op)
           << ": the dimension numbers "
           << op->getAttr("scatter_dimension_numbers")
           << " do not fit the operands";

  windowSizes.assign(getInputType().getRank(), 1);
  for (auto [input, update] :
       llvm::zip_equal(inputWindowDims, updateWindowDims))
    windowSizes[input] = getUpdateType().getDimSize(update);
  return success();
}

SmallVector<Value> Scatter::getStarts(OpBuilder &builder,
                                      ValueRange scatterIvs) {
  Location loc = op->getLoc();
  SmallVector<Value> starts(getInputType().getRank());
  for (auto [i, dim] : llvm::enumerate(toOperandDims)) {
    SmallVector<Value> position(scatterIvs);
    if (indexVectorDim < getIndicesType().getRank())
      position.insert(position.begin() + indexVectorDim,
                      stablehlo::getIndex(builder, loc, i));
    Value index = tensor::ExtractOp::create(builder, loc, indices, position);
    if (op->hasAttr(stablehlo::kUnsignedIndices))
      starts[dim] = arith::IndexCastUIOp::create(builder, loc,
                                                 builder.getIndexType(), index);
    else
      starts[dim] = arith::IndexCastOp::create(builder, loc,
                                               builder.getIndexType(), index);
  }
  // A batching dimension of the inputs has the same index as its dimension of
  // the indices, which is an induction variable of the scatter loops.
  for (auto [dim, indexDim] :
       llvm::zip_equal(inputBatchingDims, indicesBatchingDims))
    starts[dim] =
        scatterIvs[indexDim < indexVectorDim ? indexDim : indexDim - 1];
  return starts;
}

Value Scatter::isInside(OpBuilder &builder, ArrayRef<Value> starts) {
  Location loc = op->getLoc();
  Value inside;
  for (int64_t dim : toOperandDims) {
    int64_t room = getInputType().getDimSize(dim) - windowSizes[dim] + 1;
    // Compared as unsigned, a negative start is too large, so one comparison
    // checks both ends.
    Value fits = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, starts[dim],
        stablehlo::getIndex(builder, loc, std::max<int64_t>(room, 0)));
    inside = inside
                 ? arith::AndIOp::create(builder, loc, inside, fits).getResult()
                 : fits;
  }
  return inside;
}

SmallVector<Value> Scatter::buildWindow(OpBuilder &builder,
                                        ValueRange scatterIvs,
                                        ArrayRef<Value> starts,
                                        ValueRange results) {
  Location loc = op->getLoc();
  SmallVector<int64_t> sizes = llvm::map_to_vector(
      inputWindowDims, [&](int64_t dim) { return windowSizes[dim]; });
  return stablehlo::buildLoops(
      builder, loc, sizes, results,
      [&](OpBuilder &nested, ValueRange windowIvs, ValueRange carried) {
        SmallVector<Value> target(starts), source(getUpdateType().getRank());
        for (auto [dim, iv] : llvm::zip_equal(inputWindowDims, windowIvs))
          target[dim] =
              target[dim] ? arith::AddIOp::create(nested, loc, target[dim], iv)
                                .getResult()
                          : iv;
        for (auto [dim, iv] : llvm::zip_equal(updateWindowDims, windowIvs))
          source[dim] = iv;
        for (auto [dim, iv] : llvm::zip_equal(updateScatterDims, scatterIvs))
          source[dim] = iv;
        for (Value &start : target)
          if (!start)
            start = stablehlo::getIndex(nested, loc, 0);
        SmallVector<Value> arguments;
        for (Value result : carried)
          arguments.push_back(
              tensor::ExtractOp::create(nested, loc, result, target));
        for (Value update : updates)
          arguments.push_back(
              tensor::ExtractOp::create(nested, loc, update, source));
        SmallVector<Value> combined = stablehlo::inlineOnScalars(
            nested, op->getRegion(0).front(), arguments);
        SmallVector<Value> written;
        for (auto [value, result] : llvm::zip_equal(combined, carried))
          written.push_back(
              tensor::InsertOp::create(nested, loc, value, result, target));
        return written;
      });
}

/// Like XLA, on whose behaviour JAX programs depend, drops an update unless its
/// window is completely inside. (The specification drops only the elements
/// outside of the inputs, which differs for windows that are partly outside.)
SmallVector<Value> Scatter::buildUpdates(OpBuilder &builder,
                                         ValueRange scatterIvs,
                                         ValueRange results) {
  SmallVector<Value> starts = getStarts(builder, scatterIvs);
  Value inside = isInside(builder, starts);
  if (!inside)
    return buildWindow(builder, scatterIvs, starts, results);
  auto ifOp = scf::IfOp::create(
      builder, op->getLoc(), inside,
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc,
                             buildWindow(nested, scatterIvs, starts, results));
      },
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, results);
      });
  return ifOp.getResults();
}

std::optional<int64_t> Scatter::getBatchDim(int64_t scatterDim) const {
  for (auto [input, index] :
       llvm::zip_equal(inputBatchingDims, indicesBatchingDims))
    if (index == getIndexDim(scatterDim))
      return input;
  return std::nullopt;
}

bool Scatter::updatesOneOfEachBatch() const {
  if (inputs.size() != 1 || toOperandDims.size() != 1)
    return false;
  // Control flow would be on tensors, which a body of scalars must not have.
  for (Operation &inner : op->getRegion(0).front().without_terminator())
    if (inner.getNumRegions() > 0 && !isa<linalg::LinalgOp>(inner))
      return false;
  for (int64_t d = 0; d < getInputType().getRank(); ++d) {
    bool isWhole = windowSizes[d] == getInputType().getDimSize(d);
    if (d == toOperandDims.front()
            ? !llvm::is_contained(insertedWindowDims, d)
            : !llvm::is_contained(inputBatchingDims, d) && !isWhole)
      return false;
  }
  return llvm::all_of(llvm::enumerate(updateScatterDims), [&](auto pair) {
    return getUpdateType().getDimSize(pair.value()) == 1 ||
           getBatchDim(pair.index());
  });
}

void Scatter::importSelection(TypedAttr value) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  RankedTensorType inputType = getInputType(), updateType = getUpdateType();
  Value old = arith::ConstantOp::create(builder, loc, value);
  Value combined = createElementwise(
      builder, loc, updateType, updates.front(),
      [&](OpBuilder &nested, ValueRange arguments) {
        return stablehlo::inlineOnScalars(nested, op->getRegion(0).front(),
                                          {old, arguments.front()})
            .front();
      });

  // Where the update of an element, and its index, are.
  AffineExpr zero = builder.getAffineConstantExpr(0);
  auto placeOf = [&](int64_t scatterDim) {
    std::optional<int64_t> batch = getBatchDim(scatterDim);
    return batch ? builder.getAffineDimExpr(*batch) : zero;
  };
  SmallVector<AffineExpr> updatePlace(updateType.getRank(), zero),
      indexPlace(getIndicesType().getRank(), zero);
  for (auto [input, update] :
       llvm::zip_equal(inputWindowDims, updateWindowDims))
    updatePlace[update] = builder.getAffineDimExpr(input);
  for (auto [scatterDim, update] : llvm::enumerate(updateScatterDims)) {
    updatePlace[update] = placeOf(scatterDim);
    indexPlace[getIndexDim(scatterDim)] = placeOf(scatterDim);
  }
  auto makeMap = [&](ArrayRef<AffineExpr> place) {
    return AffineMap::get(inputType.getRank(), 0, place, builder.getContext());
  };

  int64_t dim = toOperandDims.front();
  bool isUnsigned = op->hasAttr(stablehlo::kUnsignedIndices);
  auto indexType = cast<IntegerType>(getIndicesType().getElementType());
  // In fewer bits, another index could look the same.
  unsigned bits = indexType.getWidth() - (isUnsigned ? 0 : 1);
  bool isNarrow = bits < 63 && inputType.getDimSize(dim) > (int64_t(1) << bits);
  Value result = createElementwise(
      builder, loc, inputType, {indices, combined},
      [&](OpBuilder &nested, ValueRange arguments) -> Value {
        Value index = arguments[0],
              number = linalg::IndexOp::create(nested, loc, dim);
        if (isNarrow)
          index = isUnsigned ? Value(arith::IndexCastUIOp::create(
                                   nested, loc, nested.getIndexType(), index))
                             : Value(arith::IndexCastOp::create(
                                   nested, loc, nested.getIndexType(), index));
        else
          number =
              arith::IndexCastOp::create(nested, loc, index.getType(), number);
        Value isHere = arith::CmpIOp::create(
            nested, loc, arith::CmpIPredicate::eq, index, number);
        return arith::SelectOp::create(nested, loc, isHere, arguments[1], old);
      },
      {makeMap(indexPlace), makeMap(updatePlace)});
  op->replaceAllUsesWith(ValueRange(result));
  op->erase();
}

/// The element of a tensor whose elements are all the same constant; null for
/// others.
static TypedAttr getSplat(Value tensor) {
  DenseElementsAttr elements;
  if (matchPattern(tensor, m_Constant(&elements)))
    return elements.isSplat() ? elements.getSplatValue<TypedAttr>()
                              : TypedAttr();
  auto fill = tensor.getDefiningOp<linalg::LinalgOp>();
  if (!fill || fill.getNumReductionLoops() > 0 || fill->getNumResults() != 1)
    return TypedAttr();
  Value yielded = fill.getBlock()->getTerminator()->getOperand(0);
  TypedAttr value;
  if (matchPattern(yielded, m_Constant(&value)))
    return value;
  auto argument = dyn_cast<BlockArgument>(yielded);
  if (!argument || argument.getOwner() != fill.getBlock())
    return TypedAttr();
  OpOperand *operand = fill.getMatchingOpOperand(argument);
  if (!isa<RankedTensorType>(operand->get().getType()))
    return matchPattern(operand->get(), m_Constant(&value)) ? value
                                                            : TypedAttr();
  return fill.isDpsInput(operand) ? getSplat(operand->get()) : TypedAttr();
}

LogicalResult Scatter::import() {
  if (failed(stablehlo::verifyStaticShapes(op)) || failed(readDimensions()))
    return failure();
  if (updatesOneOfEachBatch())
    if (TypedAttr value = getSplat(inputs.front())) {
      importSelection(value);
      return success();
    }
  OpBuilder builder(op);
  SmallVector<int64_t> sizes =
      llvm::map_to_vector(updateScatterDims, [&](int64_t dim) {
        return getUpdateType().getDimSize(dim);
      });
  op->replaceAllUsesWith(stablehlo::buildLoops(
      builder, op->getLoc(), sizes, inputs,
      [&](OpBuilder &nested, ValueRange ivs, ValueRange results) {
        return buildUpdates(nested, ivs, results);
      }));
  op->erase();
  return success();
}

LogicalResult stablehlo::importScatter(Operation *op) {
  unsigned count = op->getNumOperands() / 2;
  if (op->getNumOperands() != 2 * count + 1 || count == 0)
    return emitCannotImport(op)
           << ": expected inputs, indices and as many updates, found "
           << op->getNumOperands() << " operands";
  if (failed(verifyComputation(op, 0, 2 * count, count)))
    return failure();
  return Scatter(op).import();
}

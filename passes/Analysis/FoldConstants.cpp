//===- FoldConstants.cpp - Fold one operation on constants ----------------===//

#include "passes/Analysis/FoldConstants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace lockstep;
using namespace mlir;

/// The most elements of a tensor that is folded: conditions and indices are
/// small.
static constexpr int64_t kMostElements = 64;

static bool isSmall(Type type) {
  if (type.isIntOrIndexOrFloat())
    return true;
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         tensor.getElementType().isIntOrIndexOrFloat() &&
         tensor.getNumElements() <= kMostElements;
}

bool lockstep::isUnwritten(Value value) {
  return value.getDefiningOp<tensor::EmptyOp>();
}

/// A `linalg` operation that computes each element of its results from one
/// element of each operand, without a reduction.
static bool isElementwise(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.hasPureTensorSemantics() &&
         linalgOp.getNumParallelLoops() == linalgOp.getNumLoops() &&
         llvm::all_of(op->getOperandTypes(), isSmall) &&
         llvm::all_of(linalgOp.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation(/*allowZeroInResults=*/true);
         });
}

static bool isSimple(Operation *op) {
  return op->getNumRegions() == 0 && op->getDialect() &&
         isa<arith::ArithDialect, math::MathDialect, tensor::TensorDialect>(
             op->getDialect()) &&
         isMemoryEffectFree(op);
}

bool lockstep::canFold(Operation *op) {
  return op->getNumResults() > 0 && op->getNumOperands() > 0 &&
         llvm::all_of(op->getResultTypes(), isSmall) &&
         (isSimple(op) || isElementwise(op));
}

ConstantFolder::~ConstantFolder() {
  for (auto [original, copy] : copies)
    copy->destroy();
}

bool ConstantFolder::foldOne(Operation *simple, ArrayRef<Attribute> inputs,
                             SmallVectorImpl<Attribute> &results) {
  Operation *&copy = copies[simple];
  if (!copy)
    copy = simple->cloneWithoutRegions();
  SmallVector<OpFoldResult> folded;
  if (failed(copy->fold(inputs, folded)))
    return false;
  if (folded.size() != copy->getNumResults()) {
    // The folder has changed the copy in place for the constants of this rank,
    // which need not be valid for the next one.
    copy->destroy();
    copies.erase(simple);
    return false;
  }
  for (OpFoldResult result : folded) {
    auto constant = dyn_cast<Attribute>(result);
    if (auto value = dyn_cast<Value>(result))
      if (auto same = llvm::find(simple->getOperands(), value);
          same != simple->operand_end())
        constant = inputs[std::distance(simple->operand_begin(), same)];
    if (!constant)
      return false;
    results.push_back(constant);
  }
  return true;
}

bool ConstantFolder::fold(ArrayRef<Attribute> inputs, unsigned rank,
                          SmallVectorImpl<Attribute> &results) {
  if (isa<linalg::LinalgOp>(op))
    return foldElements(inputs, rank, results);
  return !llvm::is_contained(inputs, Attribute()) &&
         foldOne(op, inputs, results);
}

bool ConstantFolder::foldElements(ArrayRef<Attribute> inputs, unsigned rank,
                                  SmallVectorImpl<Attribute> &results) {
  auto linalgOp = cast<linalg::LinalgOp>(op);
  Block &body = *linalgOp.getBlock();
  SmallVector<int64_t> sizes = linalgOp.getStaticLoopRanges(),
                       strides(sizes.size(), 1);
  int64_t points = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = points;
    points *= sizes[i];
  }
  if (points > kMostElements)
    return false;

  SmallVector<SmallVector<Attribute>> elements(op->getNumResults());
  for (auto [result, type] : llvm::zip_equal(elements, op->getResultTypes()))
    result.resize(cast<RankedTensorType>(type).getNumElements());
  SmallVector<AffineMap> maps = linalgOp.getIndexingMapsArray();
  for (int64_t point = 0; point < points; ++point) {
    SmallVector<int64_t> place;
    for (auto [size, stride] : llvm::zip_equal(sizes, strides))
      place.push_back(point / stride % size);
    // The row-major position of the point in operand `i`.
    auto positionIn = [&](unsigned i) {
      auto type = dyn_cast<RankedTensorType>(op->getOperand(i).getType());
      int64_t position = 0;
      if (type)
        for (auto [index, size] :
             llvm::zip_equal(maps[i].compose(place), type.getShape()))
          position = position * size + index;
      return position;
    };
    llvm::DenseMap<Value, Attribute> known;
    for (auto [i, input] : llvm::enumerate(inputs)) {
      Attribute element = input;
      if (auto dense = dyn_cast_or_null<DenseElementsAttr>(input))
        element = dense.getValues<Attribute>()[positionIn(i)];
      known[body.getArgument(i)] = element;
    }
    for (Operation &inner : body.without_terminator()) {
      SmallVector<Attribute> operands, outputs;
      for (Value operand : inner.getOperands()) {
        auto it = known.find(operand);
        operands.push_back(it != known.end() ? it->second
                                             : captured(operand, rank));
      }
      Attribute constant;
      if (matchPattern(&inner, m_Constant(&constant)))
        outputs.push_back(constant);
      else if (!isSimple(&inner) || llvm::is_contained(operands, Attribute()) ||
               !foldOne(&inner, operands, outputs))
        return false;
      for (auto [value, output] : llvm::zip_equal(inner.getResults(), outputs))
        known[value] = output;
    }
    for (auto [i, yielded] :
         llvm::enumerate(body.getTerminator()->getOperands())) {
      auto it = known.find(yielded);
      Attribute element =
          it != known.end() ? it->second : captured(yielded, rank);
      if (!element)
        return false;
      elements[i][positionIn(linalgOp.getNumDpsInputs() + i)] = element;
    }
  }
  for (auto [result, type] : llvm::zip_equal(elements, op->getResultTypes())) {
    if (llvm::is_contained(result, Attribute()))
      return false;
    results.push_back(DenseElementsAttr::get(cast<ShapedType>(type), result));
  }
  return true;
}

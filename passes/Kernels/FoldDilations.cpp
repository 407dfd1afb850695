//===- FoldDilations.cpp - Fold zeros between elements into products ------===//
//
// The gradients of a convolution whose windows are two elements apart are
// convolutions with zeros between the elements of the gradient of the result,
// which are stored. Here, they are left out.
//
// The gradient of the filter adds up products of all elements: its loop runs
// over them alone, and takes every second element of the image.
//
// An element of the gradient of the image, as of a transposed convolution, adds
// up those products whose position in the filter is even or odd, as its own
// position is. So the even and the odd elements are computed by convolutions by
// every second element of the filter.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernels/Fusion.h"

#include "passes/Kernels/Structure.h"
#include "passes/Lower/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace lockstep;
using namespace mlir;

/// What is inserted between zeros; null for other values. Only if it has all
/// dimensions of the result.
static tensor::InsertSliceOp getDilation(Value value) {
  auto insert = value.getDefiningOp<tensor::InsertSliceOp>();
  if (!insert || insert.getSourceType().getRank() != insert.getType().getRank())
    return {};
  auto fill = insert.getDest().getDefiningOp<linalg::FillOp>();
  bool isStatic =
      insert.getType().hasStaticShape() &&
      llvm::none_of(insert.getStaticOffsets(), ShapedType::isDynamic) &&
      llvm::none_of(insert.getStaticStrides(), ShapedType::isDynamic);
  return fill && isStatic &&
                 matchPattern(fill.getInputs().front(), m_AnyZeroFloat())
             ? insert
             : tensor::InsertSliceOp();
}

/// Whether an index of an operand is a sum with this loop: of a window of an
/// image, of which a convolution takes only elements, and does not multiply
/// others by zero.
static bool isInWindow(AffineMap map, unsigned dim) {
  return llvm::any_of(map.getResults(), [&](AffineExpr index) {
    return !isa<AffineDimExpr>(index) && index.isFunctionOfDim(dim);
  });
}

/// Lets the sum of `product` leave out the zeros of `factor`, if all of them
/// are added up with elements of windows of the other one.
static bool foldDilation(IRRewriter &rewriter, linalg::GenericOp product,
                         OpOperand *factor, OpOperand *image) {
  tensor::InsertSliceOp insert = getDilation(factor->get());
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  AffineMap own = maps[factor->getOperandNumber()],
            window = maps[image->getOperandNumber()];
  if (!insert || !own.isProjectedPermutation())
    return false;
  SmallVector<utils::IteratorType> iterators = product.getIteratorTypesArray();
  MLIRContext *context = product.getContext();
  SmallVector<AffineExpr> loops;
  for (unsigned dim = 0; dim < own.getNumDims(); ++dim)
    loops.push_back(getAffineDimExpr(dim, context));
  ArrayRef<int64_t> offsets = insert.getStaticOffsets(),
                    strides = insert.getStaticStrides();
  for (auto [i, index] : llvm::enumerate(own.getResults())) {
    if (insert.getSourceType().getDimSize(i) == insert.getType().getDimSize(i))
      continue;
    unsigned dim = cast<AffineDimExpr>(index).getPosition();
    if (iterators[dim] != utils::IteratorType::reduction ||
        !isInWindow(window, dim))
      return false;
    loops[dim] = loops[dim] * strides[i] + offsets[i];
  }
  for (auto [i, map] : llvm::enumerate(maps))
    if (i != factor->getOperandNumber())
      map = simplifyAffineMap(
          map.replaceDimsAndSymbols(loops, {}, map.getNumDims(), 0));
  rewriter.modifyOpInPlace(product, [&] {
    factor->set(insert.getSource());
    product.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  });
  return true;
}

namespace {

/// The elements of a dimension of the result at the same remainder by a stride:
/// element p * stride + first, for all p below `size`, is the sum over all r
/// below `terms` of elements p + scale * r + shift of the source, times
/// elements r * stride + firstTerm of the other factor.
struct Class {
  int64_t first, size, firstTerm, terms, shift;
};

/// An index of a factor with zeros, `p + scale * r`, of loops of the result and
/// of the sum, and what is there.
struct DilatedIndex {
  unsigned index, p, r;
  int64_t scale, offset, stride, elements;
  SmallVector<Class> classes;

  /// How many zeros the source needs before and behind its elements.
  int64_t getLow() const {
    int64_t low = 0;
    for (const Class &each : classes)
      low = std::max(low, -each.shift);
    return low;
  }
  int64_t getHigh() const {
    int64_t high = 0;
    for (const Class &each : classes)
      high = std::max(high, each.shift + getExtent(each) - elements);
    return high;
  }
  /// How many elements of the source a class reads.
  int64_t getExtent(const Class &each) const {
    return each.size + scale * (each.terms - 1);
  }
};

} // namespace

/// Splits `p + scale * r`; false for other sums.
static bool matchSum(AffineExpr index, ArrayRef<utils::IteratorType> iterators,
                     DilatedIndex &found) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(index);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return false;
  bool hasP = false, hasR = false;
  for (AffineExpr term : {sum.getLHS(), sum.getRHS()}) {
    int64_t scale = 1;
    if (auto product = dyn_cast<AffineBinaryOpExpr>(term)) {
      auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
      if (product.getKind() != AffineExprKind::Mul || !factor)
        return false;
      scale = factor.getValue();
      term = product.getLHS();
    }
    auto dim = dyn_cast<AffineDimExpr>(term);
    if (!dim)
      return false;
    if (iterators[dim.getPosition()] == utils::IteratorType::reduction) {
      found.r = dim.getPosition();
      found.scale = scale;
      hasR = true;
    } else if (scale == 1) {
      found.p = dim.getPosition();
      hasP = true;
    }
  }
  return hasP && hasR && found.scale > 0;
}

/// Finds the classes of an index, of loops of these sizes; false if the scale
/// and the stride have a common divisor, so that some classes have no terms and
/// those of others are closer together.
static bool findClasses(DilatedIndex &found, int64_t size, int64_t terms) {
  if (std::gcd(found.scale, found.stride) != 1)
    return false;
  for (int64_t first = 0; first < std::min(found.stride, size); ++first) {
    int64_t term = 0;
    while ((first + found.scale * term - found.offset) % found.stride != 0)
      ++term;
    if (term >= terms)
      continue;
    found.classes.push_back(
        {first, int64_t(llvm::divideCeil(size - first, found.stride)), term,
         int64_t(llvm::divideCeil(terms - term, found.stride)),
         (first + found.scale * term - found.offset) / found.stride});
  }
  return true;
}

namespace {

/// Each part is a kernel.
constexpr size_t kMostParts = 64;

/// Replaces a product with zeros between the elements of a factor by products
/// without, one for each class of elements of the result.
class DilationSplitter {
public:
  DilationSplitter(IRRewriter &rewriter, linalg::GenericOp product,
                   OpOperand *factor, OpOperand *other)
      : rewriter(rewriter), product(product), loc(product.getLoc()),
        factor(factor), other(other) {}

  bool match() {
    insert = getDilation(factor->get());
    auto fill = product.getDpsInits().front().getDefiningOp<linalg::FillOp>();
    if (!insert || !fill ||
        !matchPattern(fill.getInputs().front(), m_AnyZeroFloat()) ||
        llvm::all_of(insert.getStaticStrides(),
                     [](int64_t stride) { return stride == 1; }))
      return false;
    SmallVector<int64_t> sizes = product.getStaticLoopRanges();
    SmallVector<utils::IteratorType> iterators =
        product.getIteratorTypesArray();
    AffineMap own = product.getMatchingIndexingMap(factor),
              others = product.getMatchingIndexingMap(other);
    for (auto [i, index] : llvm::enumerate(own.getResults())) {
      int64_t elements = insert.getSourceType().getDimSize(i);
      if (elements == insert.getType().getDimSize(i))
        continue;
      DilatedIndex found{};
      found.index = i;
      found.offset = insert.getStaticOffsets()[i];
      found.stride = insert.getStaticStrides()[i];
      found.elements = elements;
      if (!matchSum(index, iterators, found) ||
          !getOnlyResult(others, found.r) || others.isFunctionOfDim(found.p) ||
          !getOnlyResult(getResultMap(), found.p) ||
          !isUsedOnlyBy(own, found.p, i) || !isUsedOnlyBy(own, found.r, i) ||
          !findClasses(found, sizes[found.p], sizes[found.r]))
        return false;
      indices.push_back(found);
    }
    size_t parts = 1;
    for (const DilatedIndex &each : indices)
      parts *= each.classes.size();
    return !indices.empty() && parts <= kMostParts;
  }

  /// With `rounding`, all users of the result round it: so are the parts.
  void split(arith::TruncFOp rounding) {
    rewriter.setInsertionPoint(product);
    auto type = cast<RankedTensorType>(product.getResult(0).getType());
    RankedTensorType stored = rounding ? type.clone(rounding.getType()) : type;
    Value source = padSource(), whole = createWhole(stored);
    forEachPart([&](ArrayRef<Class> classes) {
      Value part = compute(source, classes);
      if (rounding) {
        auto partType = cast<RankedTensorType>(part.getType());
        part = convert<arith::TruncFOp>(
            part, partType.clone(stored.getElementType()));
      }
      whole = insertPart(part, whole, classes);
    });
    rewriter.replaceOp(product,
                       rounding ? convert<arith::ExtFOp>(whole, type) : whole);
  }

private:
  AffineMap getResultMap() {
    return product.getMatchingIndexingMap(product.getDpsInitOperand(0));
  }
  /// Whether no other index than this one uses a loop.
  static bool isUsedOnlyBy(AffineMap map, unsigned dim, unsigned index) {
    for (auto [i, each] : llvm::enumerate(map.getResults()))
      if (i != index && each.isFunctionOfDim(dim))
        return false;
    return true;
  }

  template <typename Op> Value convert(Value value, RankedTensorType type) {
    return createElementwise(
        rewriter, loc, type, value,
        [&](OpBuilder &nested, ValueRange arguments) -> Value {
          return Op::create(nested, loc, type.getElementType(),
                            arguments.front());
        });
  }

  Value getZero() {
    return insert.getDest().getDefiningOp<linalg::FillOp>().getInputs().front();
  }

  /// With zeros where a class reads elements that are not there.
  Value padSource() {
    RankedTensorType type = insert.getSourceType();
    SmallVector<int64_t> shape(type.getShape());
    SmallVector<OpFoldResult> low(shape.size(), rewriter.getIndexAttr(0)),
        high = low;
    for (const DilatedIndex &each : indices) {
      low[each.index] = rewriter.getIndexAttr(each.getLow());
      high[each.index] = rewriter.getIndexAttr(each.getHigh());
      shape[each.index] += each.getLow() + each.getHigh();
    }
    if (shape == type.getShape())
      return insert.getSource();
    return tensor::PadOp::create(rewriter, loc, type.clone(shape),
                                 insert.getSource(), low, high, getZero());
  }

  /// A tensor for all parts; of zeros, if some elements are in none.
  Value createWhole(RankedTensorType type) {
    Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                          type.getElementType());
    SmallVector<int64_t> sizes = product.getStaticLoopRanges();
    if (llvm::all_of(indices, [&](const DilatedIndex &each) {
          return int64_t(each.classes.size()) ==
                 std::min(each.stride, sizes[each.p]);
        }))
      return empty;
    Value zero = arith::ConstantOp::create(
        rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
    return linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
  }

  void forEachPart(llvm::function_ref<void(ArrayRef<Class>)> body) {
    SmallVector<int64_t> counts;
    for (const DilatedIndex &each : indices)
      counts.push_back(each.classes.size());
    SmallVector<int64_t> strides = computeStrides(counts);
    for (int64_t i = 0, count = computeProduct(counts); i < count; ++i) {
      SmallVector<Class> part;
      for (auto [each, number] :
           llvm::zip_equal(indices, delinearize(i, strides)))
        part.push_back(each.classes[number]);
      body(part);
    }
  }

  struct Slice {
    SmallVector<OpFoldResult> offsets, sizes, strides;
  };
  Slice getAll(RankedTensorType type) {
    Slice slice;
    slice.sizes =
        getAsIndexOpFoldResult(rewriter.getContext(), type.getShape());
    slice.offsets.assign(slice.sizes.size(), rewriter.getIndexAttr(0));
    slice.strides.assign(slice.sizes.size(), rewriter.getIndexAttr(1));
    return slice;
  }
  void setDim(Slice &slice, unsigned dim, int64_t offset, int64_t size,
              int64_t stride) {
    slice.offsets[dim] = rewriter.getIndexAttr(offset);
    slice.sizes[dim] = rewriter.getIndexAttr(size);
    slice.strides[dim] = rewriter.getIndexAttr(stride);
  }
  Value extract(Value from, const Slice &slice) {
    return tensor::ExtractSliceOp::create(rewriter, loc, from, slice.offsets,
                                          slice.sizes, slice.strides);
  }

  /// The elements of the result of one class.
  Value compute(Value source, ArrayRef<Class> classes) {
    AffineMap others = product.getMatchingIndexingMap(other);
    Slice ofSource = getAll(cast<RankedTensorType>(source.getType())),
          ofOther = getAll(cast<RankedTensorType>(other->get().getType()));
    auto type = cast<RankedTensorType>(product.getResult(0).getType());
    SmallVector<int64_t> shape(type.getShape());
    for (auto [each, own] : llvm::zip_equal(indices, classes)) {
      setDim(ofSource, each.index, own.shift + each.getLow(),
             each.getExtent(own), 1);
      setDim(ofOther, *getOnlyResult(others, each.r), own.firstTerm, own.terms,
             each.stride);
      shape[*getOnlyResult(getResultMap(), each.p)] = own.size;
    }
    SmallVector<Value> inputs(product.getDpsInputs());
    inputs[factor->getOperandNumber()] = extract(source, ofSource);
    inputs[other->getOperandNumber()] = extract(other->get(), ofOther);
    Value empty =
        tensor::EmptyOp::create(rewriter, loc, shape, type.getElementType());
    Value zero = arith::ConstantOp::create(
        rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
    Value init =
        linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
    auto part = linalg::GenericOp::create(rewriter, loc, init.getType(), inputs,
                                          init, product.getIndexingMapsArray(),
                                          product.getIteratorTypesArray());
    rewriter.cloneRegionBefore(product.getRegion(), part.getRegion(),
                               part.getRegion().begin());
    return part.getResult(0);
  }

  Value insertPart(Value part, Value whole, ArrayRef<Class> classes) {
    Slice slice = getAll(cast<RankedTensorType>(part.getType()));
    for (auto [each, own] : llvm::zip_equal(indices, classes))
      setDim(slice, *getOnlyResult(getResultMap(), each.p), own.first, own.size,
             each.stride);
    return tensor::InsertSliceOp::create(
        rewriter, loc, part, whole, slice.offsets, slice.sizes, slice.strides);
  }

  IRRewriter &rewriter;
  linalg::GenericOp product;
  Location loc;
  OpOperand *factor, *other;
  tensor::InsertSliceOp insert;
  SmallVector<DilatedIndex, 2> indices;
};

} // namespace

void lockstep::foldDilations(func::FuncOp function, int64_t leastSplit) {
  SmallVector<linalg::LinalgOp> products;
  function.walk([&](linalg::LinalgOp op) {
    if (isProduct(op) && op.hasPureTensorSemantics() &&
        llvm::none_of(op.getStaticLoopRanges(), ShapedType::isDynamic) &&
        llvm::any_of(op.getDpsInputs(), getDilation))
      products.push_back(op);
  });
  IRRewriter rewriter(function.getContext());
  for (linalg::LinalgOp product : products) {
    auto op = dyn_cast<linalg::GenericOp>(product.getOperation());
    if (!op) {
      rewriter.setInsertionPoint(product);
      FailureOr<linalg::GenericOp> generic =
          linalg::generalizeNamedOp(rewriter, product);
      if (failed(generic))
        continue;
      op = *generic;
    }
    auto [lhs, rhs] = getFactors(op);
    if (!lhs)
      continue;
    foldDilation(rewriter, op, lhs, rhs);
    foldDilation(rewriter, op, rhs, lhs);
    if (computeProduct(op.getStaticLoopRanges()) < leastSplit)
      continue;
    for (bool isLeft : {true, false}) {
      DilationSplitter splitter(rewriter, op, isLeft ? lhs : rhs,
                                isLeft ? rhs : lhs);
      if (!splitter.match())
        continue;
      splitter.split(getCommonRounding(op.getResult(0)));
      break;
    }
  }
}

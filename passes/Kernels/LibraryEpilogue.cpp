//===- LibraryEpilogue.cpp - What a library adds to a product -------------===//

#include "passes/Kernels/LibraryEpilogue.h"

#include "passes/Kernels/PadRows.h"
#include "passes/Kernels/Structure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numbers>

using namespace lockstep;
using namespace mlir;
using Activation = runtime::GpuActivation;

/// Whether `value` is `expected`, rounded to its type.
static bool isConstant(Value value, double expected) {
  llvm::APFloat found(0.0f);
  return matchPattern(value, m_ConstantFloat(&found)) &&
         std::abs(found.convertToDouble() - expected) <= 1e-7 * expected;
}

/// The operand of `value`, an `Op`, whose other operand is `constant`; null if
/// `value` is something else.
template <typename Op> static Value matchWith(Value value, double constant) {
  auto op = value ? value.getDefiningOp<Op>() : Op();
  if (!op)
    return {};
  if (isConstant(op.getRhs(), constant))
    return op.getLhs();
  return isConstant(op.getLhs(), constant) ? op.getRhs() : Value();
}

/// The operand of `value`, an `Op`, beside `operand`; null if `value` is
/// something else.
template <typename Op> static Value matchBeside(Value value, Value operand) {
  auto op = value ? value.getDefiningOp<Op>() : Op();
  if (!op)
    return {};
  if (op.getLhs() == operand)
    return op.getRhs();
  return op.getRhs() == operand ? op.getLhs() : Value();
}

/// Whether `value` is (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2.
static bool isGeluFactor(Value value, Value x) {
  Value sum = matchWith<arith::MulFOp>(value, 0.5);
  Value sigmoid = matchWith<arith::AddFOp>(sum, 1);
  auto tanh = sigmoid ? sigmoid.getDefiningOp<math::TanhOp>() : nullptr;
  if (!tanh)
    return false;
  Value polynomial = matchWith<arith::MulFOp>(
      tanh.getOperand(), std::sqrt(2 * std::numbers::inv_pi));
  Value cubic = matchBeside<arith::AddFOp>(polynomial, x);
  Value cube = matchWith<arith::MulFOp>(cubic, 0.044715);
  Value square = matchBeside<arith::MulFOp>(cube, x);
  return matchBeside<arith::MulFOp>(square, x) == x;
}

/// The argument and the kind of the activation that computes `value`: `value`
/// itself, and none, if it is not known.
static std::pair<Value, Activation> matchActivation(Value value) {
  if (auto maximum = value.getDefiningOp<arith::MaximumFOp>()) {
    if (matchPattern(maximum.getRhs(), m_PosZeroFloat()))
      return {maximum.getLhs(), Activation::Relu};
    if (matchPattern(maximum.getLhs(), m_PosZeroFloat()))
      return {maximum.getRhs(), Activation::Relu};
  }
  if (auto product = value.getDefiningOp<arith::MulFOp>()) {
    if (isGeluFactor(product.getRhs(), product.getLhs()))
      return {product.getLhs(), Activation::Gelu};
    if (isGeluFactor(product.getLhs(), product.getRhs()))
      return {product.getRhs(), Activation::Gelu};
  }
  return {value, Activation::None};
}

/// Whether the elements of an input of `op` are repeated along the outer
/// dimensions of its result, and have the order of the others.
static bool isOfTrailingDims(linalg::GenericOp op, OpOperand *input) {
  SmallVector<AffineExpr> indices(
      op.getMatchingIndexingMap(input).getResults());
  // A dimension of one element has the index 0.
  llvm::erase_if(indices, llvm::IsaPred<AffineConstantExpr>);
  unsigned first = op.getNumLoops() - indices.size();
  return first > 0 && !indices.empty() &&
         llvm::all_of(llvm::enumerate(indices), [&](auto entry) {
           return entry.value() ==
                  getAffineDimExpr(first + entry.index(), op->getContext());
         });
}

std::optional<LibraryEpilogue>
lockstep::matchLibraryEpilogue(linalg::GenericOp op, Value product,
                               bool activations) {
  auto isSingle = [](Value value) {
    auto type = dyn_cast<ShapedType>(value.getType());
    return type && type.getElementType().isF32();
  };
  if (!isElementwise(op) || op.getNumDpsInits() != 1 ||
      op.getNumDpsInputs() > 2 || !llvm::all_of(op->getOperands(), isSingle) ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return std::nullopt;
  LibraryEpilogue found;
  Value element, bias;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value argument = op.getMatchingBlockArgument(input);
    if (input->get() == product &&
        op.getMatchingIndexingMap(input).isIdentity()) {
      element = argument;
    } else if (isOfTrailingDims(op, input)) {
      found.bias = input;
      bias = argument;
    } else {
      return std::nullopt;
    }
  }
  if (!element)
    return std::nullopt;
  Value stored = op.getBody()->getTerminator()->getOperand(0);
  if (activations)
    std::tie(stored, found.activation) = matchActivation(stored);
  bool isEpilogue =
      found.bias ? matchBeside<arith::AddFOp>(stored, element) == bias
                 : stored == element && found.activation != Activation::None;
  return isEpilogue ? std::optional(found) : std::nullopt;
}

/// The results of `map` that are one of `loops`.
static SmallVector<AffineExpr> getLoops(AffineMap map,
                                        ArrayRef<unsigned> loops) {
  return llvm::filter_to_vector(map.getResults(), [&](AffineExpr index) {
    auto dim = dyn_cast<AffineDimExpr>(index);
    return dim && llvm::is_contained(loops, dim.getPosition());
  });
}

/// How many of the last dimensions of the result of a product of matrices are
/// columns: the loops of one factor. None if there are several matrices, or if
/// their rows or columns are not one dimension in memory.
static std::optional<unsigned> countColumnDims(linalg::LinalgOp product) {
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(product);
  if (failed(dims) || !dims->batch.empty() || dims->m.empty() ||
      dims->n.empty())
    return std::nullopt;
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  SmallVector<AffineExpr> rows = getLoops(maps[0], dims->m),
                          columns = getLoops(maps[1], dims->n);
  for (bool isTransposed : {false, true}) {
    if (isTransposed)
      std::swap(rows, columns);
    if (llvm::equal(llvm::concat<AffineExpr>(rows, columns),
                    maps[2].getResults()))
      return columns.size();
  }
  return std::nullopt;
}

/// Whether rows of matrices may get more elements for tensor cores, which only
/// kernels do that compute nothing but a product (PadRows.h).
static bool mayBePadded(linalg::LinalgOp product, bool tf32) {
  auto isAligned = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() > 0 &&
           tensor.getShape().back() % kRowMultiple == 0;
  };
  SmallVector<int64_t> sizes = product.getStaticLoopRanges();
  bool isLarge = llvm::none_of(sizes, ShapedType::isDynamic) &&
                 computeProduct(sizes) >= kLargeProduct;
  bool isForTensorCores =
      tf32 || !getElementTypeOrSelf(product.getDpsInputs()[0]).isF32();
  return isLarge && isForTensorCores &&
         !llvm::all_of(product->getOperandTypes(), isAligned);
}

bool lockstep::isLibraryEpilogue(linalg::GenericOp epilogue,
                                 linalg::LinalgOp product, bool activations,
                                 bool tf32) {
  std::optional<LibraryEpilogue> found =
      matchLibraryEpilogue(epilogue, product->getResult(0), activations);
  if (!found)
    return false;
  unsigned dims = 0;
  if (found->bias)
    dims = llvm::count_if(
        epilogue.getMatchingIndexingMap(found->bias).getResults(),
        llvm::IsaPred<AffineDimExpr>);
  // Channels are the last dimension of a convolution's result.
  if (!linalg::isaContractionOpInterface(product))
    return dims == 1 && found->activation != Activation::Gelu;
  std::optional<unsigned> columns = countColumnDims(product);
  return columns && (!found->bias || dims == *columns) &&
         !mayBePadded(product, tf32);
}

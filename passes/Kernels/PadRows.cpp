//===- PadRows.cpp - Rows that a library multiplies fast ------------------===//

#include "passes/Kernels/PadRows.h"

#include "dialect/Device/DeviceDialect.h"
#include "passes/Kernels/Structure.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_PADROWSPASS
#include "passes/Passes.h.inc"

namespace {

/// A kernel that only multiplies two matrices, which are arguments, and may
/// round the result.
struct ProductKernel {
  device::InvokeOp invoke;
  linalg::GenericOp op;
  OpOperand *lhs, *rhs;
  /// The loops along which a matrix has its rows in memory, if these are no
  /// multiples of `kRowMultiple`: they get more iterations.
  llvm::SmallDenseSet<unsigned> dims;

  SmallVector<OpOperand *> getMatrices() const {
    return {lhs, rhs, linalg::GenericOp(op).getDpsInitOperand(0)};
  }

  bool isPadded(OpOperand *matrix) const {
    AffineMap map = linalg::GenericOp(op).getMatchingIndexingMap(matrix);
    return llvm::any_of(dims,
                        [&](unsigned dim) { return map.isFunctionOfDim(dim); });
  }

  /// Whether the product adds up the additional elements of a factor.
  bool isReduced(OpOperand *factor) const {
    linalg::GenericOp generic = op;
    AffineMap map = generic.getMatchingIndexingMap(factor);
    return llvm::any_of(dims, [&](unsigned dim) {
      return map.isFunctionOfDim(dim) && generic.getIteratorTypesArray()[dim] ==
                                             utils::IteratorType::reduction;
    });
  }

  /// The shape of a matrix with the additional elements.
  SmallVector<int64_t> getShape(OpOperand *matrix) const {
    linalg::GenericOp generic = op;
    SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
    return llvm::map_to_vector(
        generic.getMatchingIndexingMap(matrix).getResults(),
        [&](AffineExpr result) {
          unsigned dim = cast<AffineDimExpr>(result).getPosition();
          return dims.contains(dim)
                     ? int64_t(llvm::alignTo(sizes[dim], kRowMultiple))
                     : sizes[dim];
        });
  }

  /// The value in the step that a matrix is.
  Value getValue(OpOperand *matrix) const {
    if (matrix == lhs || matrix == rhs)
      return device::InvokeOp(invoke).getOperand(
          cast<BlockArgument>(matrix->get()).getArgNumber());
    return device::InvokeOp(invoke).getResult(0);
  }
};

/// The product of a kernel that consists of nothing else, if it is large, and
/// on tensor cores.
std::optional<ProductKernel> matchProductKernel(device::InvokeOp invoke,
                                                device::KernelOp kernel,
                                                bool tf32, int64_t large) {
  Block &body = kernel.getBody().front();
  if (body.getTerminator()->getNumOperands() != 1)
    return std::nullopt;
  auto last =
      body.getTerminator()->getOperand(0).getDefiningOp<linalg::GenericOp>();
  auto op = last;
  if (last && isRounding(last) &&
      llvm::all_of(last.getIndexingMapsArray(),
                   [](AffineMap map) { return map.isIdentity(); }))
    op = last.getDpsInputs().front().getDefiningOp<linalg::GenericOp>();
  if (!op || !linalg::isaContractionOpInterface(
                 cast<linalg::LinalgOp>(op.getOperation())))
    return std::nullopt;
  for (Operation &other : body.without_terminator())
    if (&other != op && &other != last &&
        !isa<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp>(other))
      return std::nullopt;
  auto [lhs, rhs] = getFactors(op);
  auto isFactor = [&](OpOperand *operand) {
    return operand && isa<BlockArgument>(operand->get()) &&
           isa<RankedTensorType>(operand->get().getType());
  };
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (!isFactor(lhs) || !isFactor(rhs) ||
      !op.getDpsInits().front().getDefiningOp<linalg::FillOp>() ||
      llvm::any_of(sizes, ShapedType::isDynamic) ||
      computeProduct(sizes) < large)
    return std::nullopt;
  Type element = getElementTypeOrSelf(lhs->get().getType());
  if (element != getElementTypeOrSelf(rhs->get().getType()) ||
      !(element.isF16() || element.isBF16() || (tf32 && element.isF32())))
    return std::nullopt;
  ProductKernel product{invoke, op, lhs, rhs, {}};
  for (OpOperand *matrix : product.getMatrices()) {
    AffineMap map = op.getMatchingIndexingMap(matrix);
    if (!map.isProjectedPermutation() || map.getNumResults() == 0)
      return std::nullopt;
    unsigned row = cast<AffineDimExpr>(map.getResults().back()).getPosition();
    if (sizes[row] % kRowMultiple != 0)
      product.dims.insert(row);
  }
  if (product.dims.empty())
    return std::nullopt;
  return product;
}

/// Gives values of a module more elements.
class RowPadder {
public:
  RowPadder(ModuleOp module, bool tf32, int64_t large)
      : module(module), symbols(module) {
    llvm::DenseMap<Operation *, unsigned> uses;
    module.walk([&](device::InvokeOp invoke) { ++uses[getKernel(invoke)]; });
    module.walk([&](device::InvokeOp invoke) {
      device::KernelOp kernel = getKernel(invoke);
      if (uses[kernel] > 1)
        return;
      invokes.push_back(invoke);
      if (auto product = matchProductKernel(invoke, kernel, tf32, large))
        products.push_back(*product);
    });
  }

  void run() {
    while (!choose())
      ;
    if (shapes.empty())
      return;
    llvm::SmallDenseSet<Operation *> padded;
    for (const ProductKernel &product : products)
      if (isChosen(product)) {
        padProduct(product);
        padded.insert(product.invoke);
      }
    for (device::InvokeOp invoke : invokes)
      if (!padded.contains(invoke))
        padOthers(invoke);
    for (auto &[value, shape] : shapes) {
      remark::passed(value.getLoc(),
                     decision(Stage::Kernels, "Padded",
                              value.getDefiningOp()
                                  ->getParentOfType<func::FuncOp>()
                                  .getSymName()))
          << valueText(value) + " is " + typeText(getPaddedType(value)) +
                 " in memory, which a library multiplies faster";
      value.setType(getPaddedType(value));
    }
  }

private:
  device::KernelOp getKernel(device::InvokeOp invoke) {
    return symbols.lookup<device::KernelOp>(invoke.getKernel());
  }

  //===--------------------------------------------------------------------===//
  // Decisions
  //===--------------------------------------------------------------------===//

  /// Whether a kernel writes a value, only kernels read it, and none of these
  /// is invoked with other values.
  bool isPaddable(Value value) {
    auto canPad = [&](Operation *op) {
      auto invoke = dyn_cast_or_null<device::InvokeOp>(op);
      return invoke && llvm::is_contained(invokes, invoke);
    };
    return !refused.contains(value) && canPad(value.getDefiningOp()) &&
           cast<RankedTensorType>(value.getType()).hasStaticShape() &&
           llvm::all_of(value.getUsers(), canPad);
  }

  /// Whether `product` gets its factors with the additional elements.
  bool isChosen(const ProductKernel &product) {
    return llvm::all_of(
        ArrayRef({product.lhs, product.rhs}), [&](OpOperand *factor) {
          auto found = shapes.find(product.getValue(factor));
          return found == shapes.end()
                     ? !product.isPadded(factor)
                     : found->second == product.getShape(factor);
        });
  }

  /// Chooses the values that are padded, and their shapes; false if one must
  /// not be that has been chosen: a product that cannot have all of its factors
  /// padded copies them, which must have a common layout.
  bool choose() {
    shapes.clear();
    for (const ProductKernel &product : products) {
      if (!llvm::all_of(ArrayRef({product.lhs, product.rhs}),
                        [&](OpOperand *factor) {
                          return !product.isPadded(factor) ||
                                 isPaddable(product.getValue(factor));
                        }))
        continue;
      for (OpOperand *matrix : product.getMatrices())
        if (Value value = product.getValue(matrix);
            product.isPadded(matrix) && isPaddable(value))
          shapes.try_emplace(value, product.getShape(matrix));
    }
    size_t before = refused.size();
    for (const ProductKernel &product : products) {
      if (!isChosen(product))
        for (OpOperand *matrix : product.getMatrices())
          if (Value value = product.getValue(matrix); shapes.contains(value))
            refused.insert(value);
      // Behind the elements of a result are sums of products with zeros, which
      // are no zeros where a factor is infinite.
      for (OpOperand *factor : {product.lhs, product.rhs})
        if (Value value = product.getValue(factor); shapes.contains(value) &&
                                                    isResult(value) &&
                                                    product.isReduced(factor))
          refused.insert(value);
      // The result has all of the shape, or none.
      OpOperand *out = product.getMatrices().back();
      if (auto found = shapes.find(product.getValue(out));
          found != shapes.end() && found->second != product.getShape(out))
        refused.insert(found->first);
    }
    return refused.size() == before;
  }

  /// Whether a product computes `value`.
  bool isResult(Value value) {
    return llvm::any_of(products, [&](const ProductKernel &product) {
      return product.getValue(product.getMatrices().back()) == value;
    });
  }

  //===--------------------------------------------------------------------===//
  // Kernels
  //===--------------------------------------------------------------------===//

  RankedTensorType getPaddedType(Value value) {
    return cast<RankedTensorType>(value.getType())
        .clone(shapes.find(value)->second);
  }

  /// Gives a kernel arguments and results of other types. A result is computed
  /// in the memory of an argument only if it has all of its elements.
  void setTypes(device::KernelOp kernel) {
    Block &body = kernel.getBody().front();
    auto results = body.getTerminator()->getOperandTypes();
    kernel.setFunctionType(FunctionType::get(kernel.getContext(),
                                             body.getArgumentTypes(), results));
    std::optional<ArrayRef<int64_t>> places = kernel.getInPlace();
    if (!places)
      return;
    SmallVector<int64_t> kept(*places);
    for (auto [place, type] : llvm::zip_equal(kept, results))
      if (place >= 0 && body.getArgument(place).getType() != type)
        place = -1;
    if (llvm::all_of(kept, [](int64_t place) { return place < 0; }))
      kernel.removeInPlaceAttr();
    else
      kernel.setInPlace(kept);
  }

  /// Lets a product have more iterations.
  void padProduct(const ProductKernel &product) {
    device::KernelOp kernel = getKernel(product.invoke);
    Block &body = kernel.getBody().front();
    for (OpOperand *factor : {product.lhs, product.rhs})
      if (product.isPadded(factor))
        factor->get().setType(getPaddedType(product.getValue(factor)));
    OpOperand *out = product.getMatrices().back();
    auto original = cast<RankedTensorType>(kernel.getResultTypes().front());
    // What is not a factor has the shape of the result.
    if (product.isPadded(out))
      for (Operation &op : body.without_terminator())
        for (Value result : op.getResults())
          if (auto type = dyn_cast<RankedTensorType>(result.getType()))
            result.setType(type.clone(product.getShape(out)));
    if (product.isPadded(out) &&
        !shapes.contains(device::InvokeOp(product.invoke).getResult(0))) {
      OpBuilder builder(body.getTerminator());
      Value whole = body.getTerminator()->getOperand(0);
      body.getTerminator()->setOperand(
          0, getPart(builder, whole, original.getShape()));
    }
    setTypes(kernel);
  }

  /// Lets a kernel read and write parts of padded values.
  void padOthers(device::InvokeOp invoke) {
    device::KernelOp kernel = getKernel(invoke);
    Block &body = kernel.getBody().front();
    bool changed = false;
    for (auto [operand, argument] :
         llvm::zip_equal(invoke.getOperands(), body.getArguments())) {
      if (!shapes.contains(operand))
        continue;
      changed = true;
      auto original = cast<RankedTensorType>(argument.getType());
      argument.setType(getPaddedType(operand));
      auto builder = OpBuilder::atBlockBegin(&body);
      Value part = getPart(builder, argument, original.getShape());
      argument.replaceAllUsesExcept(part, part.getDefiningOp());
    }
    for (auto [result, yielded] : llvm::zip_equal(
             invoke.getResults(), body.getTerminator()->getOpOperands())) {
      if (!shapes.contains(result))
        continue;
      changed = true;
      auto builder = OpBuilder::atBlockBegin(&body);
      Value whole = createZeros(builder, yielded.get().getLoc(),
                                getPaddedType(result), result);
      builder.setInsertionPoint(body.getTerminator());
      auto original = cast<RankedTensorType>(yielded.get().getType());
      yielded.set(tensor::InsertSliceOp::create(
          builder, yielded.get().getLoc(), yielded.get(), whole,
          getOffsets(builder, original.getRank()),
          getSizes(builder, original.getShape()),
          getStrides(builder, original.getRank())));
    }
    if (changed)
      setTypes(kernel);
  }

  /// A tensor of `type` with zeros behind the elements of `like`, to which
  /// nothing else has been written.
  static Value createZeros(OpBuilder &builder, Location loc,
                           RankedTensorType type, Value like) {
    Value whole = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(type.getElementType()));
    auto original = cast<RankedTensorType>(like.getType());
    int64_t rank = type.getRank();
    for (int64_t dim = 0; dim < rank; ++dim) {
      if (type.getDimSize(dim) == original.getDimSize(dim))
        continue;
      SmallVector<OpFoldResult> offsets = getOffsets(builder, rank),
                                sizes = getSizes(builder, type.getShape()),
                                strides = getStrides(builder, rank);
      offsets[dim] = builder.getIndexAttr(original.getDimSize(dim));
      sizes[dim] =
          builder.getIndexAttr(type.getDimSize(dim) - original.getDimSize(dim));
      Value part = tensor::ExtractSliceOp::create(builder, loc, whole, offsets,
                                                  sizes, strides);
      part = linalg::FillOp::create(builder, loc, zero, part).getResult(0);
      whole = tensor::InsertSliceOp::create(builder, loc, part, whole, offsets,
                                            sizes, strides);
    }
    return whole;
  }

  static SmallVector<OpFoldResult> getOffsets(OpBuilder &builder,
                                              int64_t rank) {
    return SmallVector<OpFoldResult>(rank, builder.getIndexAttr(0));
  }
  static SmallVector<OpFoldResult> getStrides(OpBuilder &builder,
                                              int64_t rank) {
    return SmallVector<OpFoldResult>(rank, builder.getIndexAttr(1));
  }
  static SmallVector<OpFoldResult> getSizes(OpBuilder &builder,
                                            ArrayRef<int64_t> shape) {
    return getAsIndexOpFoldResult(builder.getContext(), shape);
  }

  /// The first elements of `whole`, in this shape.
  static Value getPart(OpBuilder &builder, Value whole,
                       ArrayRef<int64_t> shape) {
    return tensor::ExtractSliceOp::create(
        builder, whole.getLoc(), whole, getOffsets(builder, shape.size()),
        getSizes(builder, shape), getStrides(builder, shape.size()));
  }

  ModuleOp module;
  SymbolTable symbols;
  /// Those of kernels that are not invoked elsewhere, too.
  SmallVector<device::InvokeOp> invokes;
  SmallVector<ProductKernel> products;
  /// The new shapes of values.
  llvm::MapVector<Value, SmallVector<int64_t>> shapes;
  /// Values that must keep their shapes.
  llvm::DenseSet<Value> refused;
};

struct PadRows : impl::PadRowsPassBase<PadRows> {
  using PadRowsPassBase::PadRowsPassBase;

  void runOnOperation() override {
    RowPadder(getOperation(), tf32, large).run();
  }
};
} // namespace
} // namespace lockstep

//===- PadProducts.cpp ----------------------------------------------------===//

#include "passes/Codegen/Gpu/PadProducts.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Codegen/Gpu/EmitTiles.h"
#include "passes/Codegen/Gpu/LibraryOperand.h"
#include "passes/Kernels/PadRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

/// Whether a library may compute the product on tensor cores, and takes much
/// longer than to copy its matrices.
static bool isLarge(const Product &product, bool tf32) {
  auto elementOf = [](OpOperand *operand) {
    return getElementTypeOrSelf(operand->get().getType());
  };
  Type factor = elementOf(product.lhs);
  bool onTensorCores =
      factor.isF16() || factor.isBF16() || (tf32 && factor.isF32());
  return onTensorCores && factor == elementOf(product.rhs) &&
         product.getMultiplyAdds() >= kLargeProduct &&
         chooseProductTiles(product, tf32) &&
         llvm::all_of(product.op->getOpOperands(), [&](OpOperand &operand) {
           return product.getMap(&operand).isProjectedPermutation() &&
                  cast<MemRefType>(operand.get().getType())
                      .getLayout()
                      .isIdentity();
         });
}

namespace {

/// Replaces the matrices of a product by larger ones.
class ProductPadding {
public:
  explicit ProductPadding(const Product &product)
      : product(product), loc(linalg::GenericOp(product.op).getLoc()) {
    // The dimensions along which a matrix has its rows in memory.
    for (OpOperand &operand : linalg::GenericOp(product.op)->getOpOperands())
      if (auto dim =
              cast<AffineDimExpr>(product.getMap(&operand).getResults().back());
          product.sizes[dim.getPosition()] % kRowMultiple != 0)
        padded.insert(dim.getPosition());
  }

  bool isNeeded() const { return !padded.empty(); }

  /// Copies a factor, with zeros behind each row.
  void padFactor(OpOperand *factor) {
    if (!isPadded(factor))
      return;
    OpBuilder builder(product.op);
    Value larger = allocate(builder, factor, factor->get());
    createCopy(builder, factor->get(), getPart(builder, larger, factor->get()));
    for (unsigned i = 0; i < getType(larger).getRank(); ++i)
      fillBehind(builder, larger, factor->get(), i);
    factor->set(larger);
  }

  /// Makes the product, or its rounding, write to a larger buffer.
  void padResult(ProductGroup &group) {
    OpOperand *out = group.product.out;
    if (!isPadded(out))
      return;
    OpBuilder builder(group.fill ? group.fill : product.op);
    Value old = out->get(), larger = allocate(builder, out, old);
    linalg::GenericOp last = product.op;
    if (linalg::GenericOp rounding = getRounding(group)) {
      Value result = rounding.getDpsInits().front();
      Value rounded = allocate(builder, out, result);
      rounding->replaceUsesOfWith(old, larger);
      rounding->replaceUsesOfWith(result, rounded);
      builder.setInsertionPointAfter(rounding);
      createCopy(builder, getPart(builder, rounded, result), result);
    } else if (group.registers.contains(old)) {
      old.replaceUsesWithIf(getPart(builder, larger, old), [&](OpOperand &use) {
        return use.getOwner() != last && use.getOwner() != group.fill;
      });
    } else {
      builder.setInsertionPointAfter(last);
      createCopy(builder, getPart(builder, larger, old), old);
    }
    group.fill->replaceUsesOfWith(old, larger);
    last->replaceUsesOfWith(old, larger);
    if (auto alloc = old.getDefiningOp<memref::AllocOp>();
        alloc && alloc->use_empty())
      alloc->erase();
  }

private:
  static MemRefType getType(Value buffer) {
    return cast<MemRefType>(buffer.getType());
  }

  bool isPadded(OpOperand *operand) const {
    return llvm::any_of(padded, [&](unsigned dim) {
      return product.getMap(operand).isFunctionOfDim(dim);
    });
  }

  /// A buffer with the elements of `like`, and more of the dimensions that are
  /// padded; `operand` has the same dimensions.
  Value allocate(OpBuilder &builder, OpOperand *operand, Value like) {
    SmallVector<int64_t> shape(getType(like).getShape());
    for (auto [size, dim] :
         llvm::zip_equal(shape, product.getMap(operand).getResults()))
      if (padded.contains(cast<AffineDimExpr>(dim).getPosition()))
        size = llvm::alignTo(size, kRowMultiple);
    return memref::AllocOp::create(
        builder, loc, MemRefType::get(shape, getType(like).getElementType()));
  }

  Value getView(OpBuilder &builder, Value buffer, ArrayRef<int64_t> offsets,
                ArrayRef<int64_t> sizes) {
    SmallVector<int64_t> strides(sizes.size(), 1);
    return memref::SubViewOp::create(builder, loc, buffer, offsets, sizes,
                                     strides);
  }

  /// The elements of `larger` that `like` has.
  Value getPart(OpBuilder &builder, Value larger, Value like) {
    SmallVector<int64_t> offsets(getType(like).getRank(), 0);
    return getView(builder, larger, offsets, getType(like).getShape());
  }

  /// Stores zeros to what `larger` has behind `like` in a dimension.
  void fillBehind(OpBuilder &builder, Value larger, Value like, unsigned dim) {
    SmallVector<int64_t> sizes(getType(larger).getShape()),
        offsets(sizes.size(), 0);
    offsets[dim] = getType(like).getDimSize(dim);
    sizes[dim] -= offsets[dim];
    if (sizes[dim] == 0)
      return;
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(getType(like).getElementType()));
    createGeneric(builder, {}, getView(builder, larger, offsets, sizes),
                  [&](ValueRange) -> Value { return zero; });
  }

  void createCopy(OpBuilder &builder, Value from, Value to) {
    createGeneric(builder, from, to,
                  [](ValueRange arguments) -> Value { return arguments[0]; });
  }

  void createGeneric(OpBuilder &builder, ValueRange from, Value to,
                     llvm::function_ref<Value(ValueRange)> body) {
    int64_t rank = getType(to).getRank();
    SmallVector<AffineMap> maps(from.size() + 1,
                                builder.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    linalg::GenericOp::create(
        builder, loc, TypeRange(), from, to, maps, iterators,
        [&](OpBuilder &b, Location loc, ValueRange arguments) {
          linalg::YieldOp::create(b, loc, body(arguments));
        });
  }

  const Product product;
  const Location loc;
  /// Dimensions of the product that get more iterations.
  llvm::SmallDenseSet<unsigned> padded;
};

} // namespace

void lockstep::padProducts(func::FuncOp function, bool tf32) {
  SmallVector<linalg::GenericOp> ops(
      function.getBody().front().getOps<linalg::GenericOp>());
  for (linalg::GenericOp op : ops) {
    std::optional<Product> product = matchProduct(op);
    if (!product || !isLarge(*product, tf32))
      continue;
    ProductPadding padding(*product);
    ProductGroup group = collectProductGroup(*product, function);
    // What the product is added to would have to be copied, too.
    if (!padding.isNeeded() || !group.fill)
      continue;
    padding.padResult(group);
    for (OpOperand *factor : {product->lhs, product->rhs})
      padding.padFactor(factor);
  }
}

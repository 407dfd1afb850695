//===- PadProducts.cpp ----------------------------------------------------===//

#include "passes/Codegen/Gpu/PadProducts.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Codegen/Gpu/EmitTiles.h"
#include "passes/Codegen/Gpu/LibraryProduct.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

/// What the tensor cores' fastest instructions for memory need.
static constexpr int64_t kRowAlignment = 16;
/// Smaller products take no longer than the copies.
static constexpr int64_t kLargeProduct = int64_t(1) << 30;
/// Whether these are rows in memory one after the other, which do not begin at
/// aligned addresses.
static bool hasUnalignedRows(Value matrix) {
  auto type = cast<MemRefType>(matrix.getType());
  if (type.getRank() < 2 || !type.hasStaticShape() ||
      !type.getLayout().isIdentity())
    return false;
  return type.getShape().back() * getElementBytes(type.getElementType()) %
             kRowAlignment !=
         0;
}

/// A new buffer for the elements of `matrix`, with longer rows.
static Value createPadded(OpBuilder &builder, Location loc, Value matrix) {
  auto type = cast<MemRefType>(matrix.getType());
  int64_t perUnit = kRowAlignment / getElementBytes(type.getElementType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = llvm::alignTo(shape.back(), perUnit);
  Value padded = memref::AllocOp::create(
      builder, loc, MemRefType::get(shape, type.getElementType()));
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0)),
      strides(shape.size(), builder.getIndexAttr(1)),
      sizes = llvm::map_to_vector(type.getShape(),
                                  [&](int64_t size) -> OpFoldResult {
                                    return builder.getIndexAttr(size);
                                  });
  return memref::SubViewOp::create(builder, loc, padded, offsets, sizes,
                                   strides);
}

static void createCopy(OpBuilder &builder, Location loc, Value from, Value to) {
  auto type = cast<MemRefType>(from.getType());
  SmallVector<AffineMap> maps(2,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  linalg::GenericOp::create(
      builder, loc, TypeRange(), from, to, maps, iterators,
      [](OpBuilder &b, Location bodyLoc, ValueRange arguments) {
        linalg::YieldOp::create(b, bodyLoc, arguments[0]);
      });
}

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
           return product.getMap(&operand).isProjectedPermutation();
         });
}

static void padFactor(OpOperand *factor) {
  linalg::GenericOp op(factor->getOwner());
  OpBuilder builder(op);
  Value padded = createPadded(builder, op.getLoc(), factor->get());
  createCopy(builder, op.getLoc(), factor->get(), padded);
  factor->set(padded);
}

/// Makes the product, or its rounding, write to a buffer with longer rows.
static void padResult(ProductGroup &group) {
  linalg::GenericOp op = group.product.op, rounding = getRounding(group);
  Value result =
      rounding ? rounding.getDpsInits().front() : group.product.out->get();
  if (!group.fill || !hasUnalignedRows(result))
    return;
  OpBuilder builder(group.fill);
  Value padded = createPadded(builder, op.getLoc(), result);
  if (!rounding && group.registers.contains(result)) {
    result.replaceAllUsesWith(padded);
    result.getDefiningOp()->erase();
    return;
  }
  if (rounding) {
    rounding->replaceUsesOfWith(result, padded);
    builder.setInsertionPointAfter(rounding);
  } else {
    group.fill->replaceUsesOfWith(result, padded);
    op->replaceUsesOfWith(result, padded);
    builder.setInsertionPointAfter(op);
  }
  createCopy(builder, op.getLoc(), padded, result);
}

void lockstep::padProducts(func::FuncOp function, bool tf32) {
  SmallVector<linalg::GenericOp> ops(
      function.getBody().front().getOps<linalg::GenericOp>());
  for (linalg::GenericOp op : ops) {
    std::optional<Product> product = matchProduct(op);
    if (!product || !isLarge(*product, tf32))
      continue;
    for (OpOperand *factor : {product->lhs, product->rhs})
      if (hasUnalignedRows(factor->get()))
        padFactor(factor);
    ProductGroup group = collectProductGroup(*product, function);
    padResult(group);
  }
}

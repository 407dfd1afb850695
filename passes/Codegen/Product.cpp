//===- Product.cpp - Contractions of two tensors --------------------------===//

#include "passes/Codegen/Product.h"

#include "passes/Kernels/Structure.h"

#include <tuple>

using namespace lockstep;
using namespace mlir;

int64_t lockstep::multiplySizes(ArrayRef<int64_t> sizes,
                                ArrayRef<unsigned> dims) {
  int64_t product = 1;
  for (unsigned dim : dims)
    product *= sizes[dim];
  return product;
}

int64_t Product::getPanelRows() const {
  return getNumRows() * multiplySizes(sizes, rowDims);
}

int64_t Product::getMultiplyAdds() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

Type Product::getElementType() const {
  return cast<MemRefType>(out->get().getType()).getElementType();
}

bool lockstep::isInnermostContiguous(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return type.hasStaticShape() && type.isLastDimUnitStride();
}

std::optional<Product> lockstep::matchProduct(linalg::GenericOp op) {
  Product product;
  product.op = op;
  std::tie(product.lhs, product.rhs) = getFactors(op);
  if (!op.hasPureBufferSemantics() || !product.lhs)
    return std::nullopt;
  product.out = op.getDpsInitOperand(0);
  Type element = product.getElementType();
  AffineMap outMap = op.getMatchingIndexingMap(product.out);
  product.sizes = op.getStaticLoopRanges();
  if (!(element.isF32() || element.isF64()) ||
      !outMap.isProjectedPermutation() || outMap.getNumResults() == 0 ||
      !isInnermostContiguous(product.out->get()) ||
      llvm::any_of(product.sizes, ShapedType::isDynamic))
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands())
    if (!cast<MemRefType>(operand.get().getType()).hasStaticShape())
      return std::nullopt;

  // Vectorize along the last dimension of the result; the operand that is
  // indexed by it is the right one.
  auto last = dyn_cast<AffineDimExpr>(outMap.getResults().back());
  if (!last)
    return std::nullopt;
  product.column = last.getPosition();
  if (op.getMatchingIndexingMap(product.lhs).isFunctionOfDim(product.column))
    std::swap(product.lhs, product.rhs);
  AffineMap lhsMap = op.getMatchingIndexingMap(product.lhs),
            rhsMap = op.getMatchingIndexingMap(product.rhs);
  if (lhsMap.isFunctionOfDim(product.column) ||
      !getOnlyResult(rhsMap, product.column))
    return std::nullopt;

  for (auto [dim, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (iterator == utils::IteratorType::reduction)
      product.kDims.push_back(dim);
    else if (dim == product.column)
      continue;
    else if (!outMap.isFunctionOfDim(dim))
      return std::nullopt;
    else if (rhsMap.isFunctionOfDim(dim))
      product.outerDims.push_back(dim);
    else
      product.rowDims.push_back(dim);
  }
  // Tile the longest row dimension, the innermost of equal ones.
  if (!product.rowDims.empty()) {
    auto *longest = product.rowDims.begin();
    for (unsigned &dim : product.rowDims)
      if (product.sizes[dim] >= product.sizes[*longest])
        longest = &dim;
    product.row = *longest;
    product.rowDims.erase(longest);
  }
  return product;
}

//===- FoldDilations.cpp - Fold zeros between elements into products ------===//
//
// The gradient of a filter whose windows are two elements apart is computed as
// a convolution of the image by the gradient of the result, with zeros between
// its elements, which are stored. Here, the sum leaves them out: its loop runs
// over the elements alone, and takes every second one of the image.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernels/Fusion.h"

#include "passes/Kernels/Structure.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

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

void lockstep::foldDilations(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  function.walk([&](linalg::GenericOp op) {
    auto [lhs, rhs] = getFactors(op);
    if (!lhs || !op.hasPureTensorSemantics())
      return;
    foldDilation(rewriter, op, lhs, rhs);
    foldDilation(rewriter, op, rhs, lhs);
  });
}

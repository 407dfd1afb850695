//===- RoundProducts.cpp - Store products as they are read ----------------===//

#include "passes/Kernels/Fusion.h"
#include "passes/Kernels/Structure.h"
#include "passes/Lower/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

/// An element of a tensor where it is used: the argument of a body, or what an
/// extraction returns; null for other uses.
static Value getElement(OpOperand &use) {
  if (auto extract = dyn_cast<tensor::ExtractOp>(use.getOwner()))
    return extract.getResult();
  auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
  return op && op.isDpsInput(&use) ? op.getMatchingBlockArgument(&use)
                                   : Value();
}

arith::TruncFOp lockstep::getCommonRounding(Value result) {
  arith::TruncFOp found;
  for (OpOperand &use : result.getUses()) {
    Value element = getElement(use);
    if (!element)
      return nullptr;
    for (Operation *user : element.getUsers()) {
      auto rounding = dyn_cast<arith::TruncFOp>(user);
      if (!rounding || rounding.getRoundingmode() ||
          (found && found.getType() != rounding.getType()))
        return nullptr;
      found = rounding;
    }
  }
  return found;
}

/// Whether the only user is computed with the product. One that is reduced is
/// computed with the reduction instead, unless it stores no more than the
/// rounded result.
static bool hasEpilogue(linalg::LinalgOp product, arith::TruncFOp rounding) {
  if (!product->hasOneUse())
    return false;
  auto user = dyn_cast<linalg::GenericOp>(*product->user_begin());
  if (!user || !isEpilogueOf(user, product))
    return false;
  bool isReduced = llvm::any_of(user->getUsers(), [](Operation *reader) {
    auto reduction = dyn_cast<linalg::LinalgOp>(reader);
    return reduction && reduction.getNumReductionLoops() > 0 &&
           !isProduct(reduction);
  });
  return !isReduced || llvm::all_of(user->getResultTypes(), [&](Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isIntOrFloat() &&
           element.getIntOrFloatBitWidth() <=
               rounding.getType().getIntOrFloatBitWidth();
  });
}

/// Whether the result is so large that reading it takes time: small ones are in
/// a cache. Not for convolutions by generated code: processors keep their
/// partial sums in the memory of the result, and would need other memory for
/// them.
static bool isWorthRounding(linalg::LinalgOp product) {
  constexpr int64_t manyElements = 1 << 18;
  // A reduction of several inputs that is no product of matrices.
  if (auto generic = dyn_cast<linalg::GenericOp>(product.getOperation());
      generic && !getFactors(generic).first)
    return false;
  auto type = cast<RankedTensorType>(product->getResult(0).getType());
  return type.hasStaticShape() && type.getNumElements() >= manyElements &&
         llvm::all_of(product.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation();
         });
}

/// Whether the result is the only input.
static bool isCopy(linalg::GenericOp op) {
  return linalg::isaCopyOpInterface(op) &&
         op.getDpsInputs().front().getType() == op.getResult(0).getType();
}

void lockstep::roundProducts(func::FuncOp function, bool libraryProducts,
                             bool libraryConvolutions) {
  auto isByLibrary = [&](linalg::LinalgOp op) {
    return lockstep::isByLibrary(op, libraryProducts, libraryConvolutions);
  };
  SmallVector<linalg::LinalgOp> products;
  function.walk([&](linalg::LinalgOp op) {
    if (isProduct(op) && op->getNumResults() == 1 &&
        (isByLibrary(op) || isWorthRounding(op)))
      products.push_back(op);
  });
  OpBuilder builder(function.getContext());
  for (linalg::LinalgOp product : products) {
    Value result = product->getResult(0);
    arith::TruncFOp rounding = getCommonRounding(result);
    auto type = cast<RankedTensorType>(result.getType());
    if (!rounding || (!isByLibrary(product) && hasEpilogue(product, rounding)))
      continue;
    Location loc = rounding.getLoc();
    Type narrow = rounding.getType();
    SmallVector<OpOperand *> uses = llvm::map_to_vector(
        result.getUses(), [](OpOperand &use) { return &use; });
    builder.setInsertionPointAfter(product);
    Value rounded = createElementwise(
        builder, loc, type.clone(narrow), result,
        [&](OpBuilder &nested, ValueRange arguments) -> Value {
          return arith::TruncFOp::create(nested, loc, narrow,
                                         arguments.front());
        });
    for (OpOperand *use : uses) {
      Value element = getElement(*use);
      use->set(rounded);
      SmallVector<Operation *> users(element.getUsers());
      element.setType(narrow);
      for (Operation *user : users) {
        user->getResult(0).replaceAllUsesWith(element);
        user->erase();
      }
      if (auto copy = dyn_cast<linalg::GenericOp>(use->getOwner());
          copy && isCopy(copy)) {
        copy.getResult(0).replaceAllUsesWith(rounded);
        copy.erase();
      }
    }
  }
}

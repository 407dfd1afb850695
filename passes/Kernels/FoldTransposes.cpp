//===- FoldTransposes.cpp - Fold transposes into products -----------------===//

#include "passes/Kernels/Fusion.h"

#include "passes/Kernels/Structure.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

/// The permutation by which all users read the result of `product`,
/// element-wise; nullopt if they differ, or it is the identity.
static std::optional<AffineMap> getCommonPermutation(linalg::LinalgOp product) {
  std::optional<AffineMap> common;
  for (OpOperand &use : product->getResult(0).getUses()) {
    auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!user || !lockstep::isElementwise(user) || user.isDpsInit(&use))
      return std::nullopt;
    AffineMap map = user.getMatchingIndexingMap(&use);
    if (!map.isPermutation() || map.isIdentity() || (common && *common != map))
      return std::nullopt;
    common = map;
  }
  return common;
}

/// Permutes the result of `product` so that its users read it with the identity
/// map: dimension i of the result becomes the one that their loop i iterates
/// over.
static void transposeResult(IRRewriter &rewriter, linalg::GenericOp product,
                            linalg::FillOp fill, AffineMap permutation) {
  AffineMap inverse = inversePermutation(permutation);
  auto type = cast<RankedTensorType>(product.getResult(0).getType());
  SmallVector<int64_t> shape = applyPermutationMap(inverse, type.getShape());
  rewriter.setInsertionPoint(product);
  Location loc = product.getLoc();
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, shape, type.getElementType());
  Value init = linalg::FillOp::create(rewriter, loc, fill.getInputs(), empty)
                   .getResult(0);
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  maps.back() = inverse.compose(maps.back());
  auto transposed = linalg::GenericOp::create(rewriter, loc, init.getType(),
                                              product.getInputs(), init, maps,
                                              product.getIteratorTypesArray());
  rewriter.inlineRegionBefore(product.getRegion(), transposed.getRegion(),
                              transposed.getRegion().begin());
  for (OpOperand &use :
       llvm::make_early_inc_range(product.getResult(0).getUses())) {
    auto user = cast<linalg::GenericOp>(use.getOwner());
    SmallVector<AffineMap> userMaps = user.getIndexingMapsArray();
    userMaps[use.getOperandNumber()] =
        rewriter.getMultiDimIdentityMap(permutation.getNumDims());
    rewriter.modifyOpInPlace(user, [&] {
      user.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(userMaps));
      use.set(transposed.getResult(0));
    });
  }
  rewriter.eraseOp(product);
}

bool lockstep::foldTransposesIntoProducts(func::FuncOp function) {
  SmallVector<linalg::LinalgOp> products;
  function.walk([&](linalg::LinalgOp op) {
    if (isProduct(op) && op->getNumResults() == 1 &&
        cast<RankedTensorType>(op->getResultTypes()[0]).hasStaticShape())
      products.push_back(op);
  });
  IRRewriter rewriter(function.getContext());
  bool changed = false;
  for (linalg::LinalgOp product : products) {
    auto fill =
        product.getDpsInitOperand(0)->get().getDefiningOp<linalg::FillOp>();
    std::optional<AffineMap> permutation = getCommonPermutation(product);
    if (!fill || !permutation)
      continue;
    rewriter.setInsertionPoint(product);
    FailureOr<linalg::GenericOp> generic =
        isa<linalg::GenericOp>(product.getOperation())
            ? FailureOr<linalg::GenericOp>(
                  cast<linalg::GenericOp>(product.getOperation()))
            : linalg::generalizeNamedOp(rewriter, product);
    if (succeeded(generic)) {
      transposeResult(rewriter, *generic, fill, *permutation);
      changed = true;
    }
  }
  return changed;
}

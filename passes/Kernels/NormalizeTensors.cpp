//===- NormalizeTensors.cpp - Degenerate tensors and slices ---------------===//

#include "passes/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_NORMALIZETENSORSPASS
#include "passes/Passes.h.inc"

namespace {

bool isWithoutElements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
}

/// Whether `op` only computes tensors without elements.
bool computesNothing(Operation *op) {
  return op->getNumResults() > 0 &&
         llvm::all_of(op->getResultTypes(), isWithoutElements) &&
         isMemoryEffectFree(op) && !isa<tensor::EmptyOp>(op) &&
         !op->hasTrait<OpTrait::IsTerminator>();
}

/// Whether a loop of `op` has no iterations, as in a reduction of no elements,
/// whose result is its initial value.
bool hasNoIterations(linalg::LinalgOp op) {
  return op.hasPureTensorSemantics() &&
         llvm::is_contained(op.getStaticLoopRanges(), 0);
}

void replaceByEmpty(OpBuilder &builder, Operation *op) {
  builder.setInsertionPoint(op);
  for (OpResult result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    result.replaceAllUsesWith(tensor::EmptyOp::create(
        builder, op->getLoc(), type.getShape(), type.getElementType()));
  }
  op->erase();
}

/// Whether a result of `op` may keep elements of its destination that `op` does
/// not write, such as those off a diagonal. Bufferization and fusion assume
/// that a destination which is not read is overwritten completely.
bool keepsElements(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return false;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  bool isOneElement =
      llvm::all_of(ranges, [](int64_t range) { return range == 1; });
  return llvm::any_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (!map.isProjectedPermutation())
      return !isOneElement;
    // A dynamic loop over a dimension that the destination does not have may
    // have no iterations, and then nothing is written.
    for (auto [loop, range] : llvm::enumerate(ranges))
      if (ShapedType::isDynamic(range) && !map.isFunctionOfDim(loop) &&
          !op.payloadUsesValueFromOperand(&init))
        return true;
    return false;
  });
}

/// Tiles `op` into loops that insert one element at a time.
LogicalResult insertByElement(RewriterBase &rewriter, linalg::LinalgOp op) {
  scf::SCFTilingOptions options;
  options.setTileSizes(
      SmallVector<OpFoldResult>(op.getNumLoops(), rewriter.getIndexAttr(1)));
  rewriter.setInsertionPoint(op);
  FailureOr<scf::SCFTilingResult> tiled = scf::tileUsingSCF(
      rewriter, cast<TilingInterface>(op.getOperation()), options);
  if (failed(tiled))
    return op.emitError(
        "expected an operation that can be divided into its elements, since it "
        "does not write all of its result");
  rewriter.replaceOp(op, tiled->replacements);
  return success();
}

/// Sets the stride of dimensions of size one, which has no effect, to one. With
/// another stride, a view that drops the dimension would need two operations on
/// memory instead of one.
template <typename SliceOp> void normalizeStrides(SliceOp op) {
  SmallVector<int64_t> strides(op.getStaticStrides());
  for (auto [stride, size] : llvm::zip_equal(strides, op.getStaticSizes()))
    if (size == 1 && !ShapedType::isDynamic(stride))
      stride = 1;
  op.setStaticStrides(strides);
}

struct NormalizeTensors : impl::NormalizeTensorsPassBase<NormalizeTensors> {
  void runOnOperation() override {
    IRRewriter builder(&getContext());
    SmallVector<Operation *> empty;
    SmallVector<linalg::LinalgOp> partial;
    // Outer operations first: nested ones are erased with them.
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (computesNothing(op)) {
        empty.push_back(op);
        return WalkResult::skip();
      }
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
          linalgOp && hasNoIterations(linalgOp)) {
        op->replaceAllUsesWith(linalgOp.getDpsInits());
        op->erase();
        return WalkResult::skip();
      }
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
          linalgOp && keepsElements(linalgOp))
        partial.push_back(linalgOp);
      if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
        normalizeStrides(slice);
      else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
        normalizeStrides(slice);
      return WalkResult::advance();
    });
    for (Operation *op : empty)
      replaceByEmpty(builder, op);
    for (linalg::LinalgOp op : partial)
      if (failed(insertByElement(builder, op)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace lockstep

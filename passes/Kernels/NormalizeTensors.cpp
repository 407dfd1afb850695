//===- NormalizeTensors.cpp - Degenerate tensors and slices ---------------===//

#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
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

/// Whether all that `op` does is to make tensors without elements.
bool computesNothing(Operation *op) {
  return op->getNumResults() > 0 && llvm::all_of(op->getResultTypes(), isWithoutElements) && isMemoryEffectFree(op) &&
         !isa<tensor::EmptyOp>(op) && !op->hasTrait<OpTrait::IsTerminator>();
}

/// Whether `op` is executed for no element at all, as a reduction of nothing, which leaves what it begins with.
bool hasNoIterations(linalg::LinalgOp op) { return op.hasPureTensorSemantics() && llvm::is_contained(op.getStaticLoopRanges(), 0); }

void replaceByEmpty(OpBuilder &builder, Operation *op) {
  builder.setInsertionPoint(op);
  for (OpResult result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    result.replaceAllUsesWith(tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(), type.getElementType()));
  }
  op->erase();
}

/// The stride of a dimension of size one means nothing. Where it is not one, a view that drops the dimension takes two operations on
/// memory, with a stride of one it takes one.
template <typename SliceOp> void normalizeStrides(SliceOp op) {
  SmallVector<int64_t> strides(op.getStaticStrides());
  for (auto [stride, size] : llvm::zip_equal(strides, op.getStaticSizes()))
    if (size == 1 && !ShapedType::isDynamic(stride))
      stride = 1;
  op.setStaticStrides(strides);
}

struct NormalizeTensors : impl::NormalizeTensorsPassBase<NormalizeTensors> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    SmallVector<Operation *> empty;
    // Outer operations first: what is in them goes with them.
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (computesNothing(op)) {
        empty.push_back(op);
        return WalkResult::skip();
      }
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op); linalgOp && hasNoIterations(linalgOp)) {
        op->replaceAllUsesWith(linalgOp.getDpsInits());
        op->erase();
        return WalkResult::skip();
      }
      if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
        normalizeStrides(slice);
      else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
        normalizeStrides(slice);
      return WalkResult::advance();
    });
    for (Operation *op : empty)
      replaceByEmpty(builder, op);
  }
};

} // namespace
} // namespace lockstep

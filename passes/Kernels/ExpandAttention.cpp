//===- ExpandAttention.cpp - Replace attention by what defines it ---------===//

#include "dialect/Device/DeviceDialect.h"
#include "passes/Emit/Elements.h"
#include "passes/Kernels/AttentionSlices.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"
#include "runtime/artifact/GpuAttention.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace lockstep {
#define GEN_PASS_DEF_EXPANDATTENTIONPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;
using runtime::GpuAttention;
using runtime::GpuTensor;

/// Why no library computes an attention, or the gradient of one; none if one
/// may.
template <typename OpTy>
static std::optional<std::string> findObstacle(OpTy op,
                                               GpuAttention::Kind kind) {
  GpuAttention attention;
  attention.kind = kind;
  attention.scaleBits =
      std::bit_cast<uint64_t>(op.getScale().convertToDouble());
  auto describe = [](Value value, GpuTensor &tensor) {
    auto type = cast<RankedTensorType>(value.getType());
    FailureOr<artifact::ElementType> element =
        toElementType(type.getElementType(), /*isUnsigned=*/false);
    assert(succeeded(element) && "verified");
    tensor.element = uint64_t(*element);
    constexpr unsigned order[] = {0, 2, 1, 3};
    for (auto [size, dim] : llvm::zip_equal(tensor.sizes, order))
      size = type.getDimSize(dim);
  };
  describe(op.getQuery(), attention.query);
  describe(op.getKey(), attention.key);
  return attention.findObstacle();
}

static std::optional<std::string> findObstacle(Operation *op) {
  if (auto attention = dyn_cast<device::AttentionOp>(op))
    return findObstacle(attention, GpuAttention::Forward);
  return findObstacle(cast<device::AttentionGradientOp>(op),
                      GpuAttention::Gradient);
}

namespace {
struct ExpandAttention
    : lockstep::impl::ExpandAttentionPassBase<ExpandAttention> {
  using ExpandAttentionPassBase::ExpandAttentionPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (device::isAttention(op) &&
          cast<DestinationStyleOpInterface>(op).hasPureTensorSemantics())
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      if (library) {
        std::optional<std::string> found = obstacle.getValue();
        if (obstacle.empty())
          found = findObstacle(op);
        if (!found)
          continue;
        remark::missed(op->getLoc(), decision(Stage::Kernels, "Attention",
                                             getOperation().getSymName()))
            << ("generated code instead of cuDNN: " + *found);
      }
      uint64_t most =
          mostBytes ? mostBytes : std::numeric_limits<uint64_t>::max();
      for (Operation *slice : sliceAttention(rewriter, op, most))
        if (failed(expand(rewriter, slice)))
          return signalPassFailure();
    }
  }

  LogicalResult expand(RewriterBase &rewriter, Operation *op) {
    rewriter.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> values =
        cast<linalg::AggregatedOpInterface>(op).decomposeOperation(rewriter);
    if (failed(values))
      return failure();
    rewriter.replaceOp(op, *values);
    return success();
  }
};
} // namespace

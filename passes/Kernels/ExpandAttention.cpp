//===- ExpandAttention.cpp - Replace attention by what defines it ---------===//

#include "dialect/Device/DeviceDialect.h"
#include "passes/Kernels/Grouping.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace lockstep {
#define GEN_PASS_DEF_EXPANDATTENTIONPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

/// Why no library computes an attention of queries of this type; empty if one
/// may.
static std::string findObstacle(RankedTensorType query) {
  constexpr int64_t mostElements = 128, multiple = 8;
  std::string text;
  llvm::raw_string_ostream stream(text);
  Type element = query.getElementType();
  int64_t size = query.getShape().back();
  if (!element.isF16() && !element.isBF16())
    stream << "expected elements of f16 or bf16, found " << element;
  else if (size > mostElements || size % multiple != 0)
    stream << "expected heads of at most " << mostElements
           << " elements, a multiple of " << multiple << ", found " << size;
  return text;
}

namespace {
struct ExpandAttention
    : lockstep::impl::ExpandAttentionPassBase<ExpandAttention> {
  using ExpandAttentionPassBase::ExpandAttentionPassBase;

  void runOnOperation() override {
    SmallVector<linalg::AggregatedOpInterface> ops;
    getOperation().walk([&](Operation *op) {
      if (isAttention(op) &&
          cast<DestinationStyleOpInterface>(op).hasPureTensorSemantics())
        ops.push_back(cast<linalg::AggregatedOpInterface>(op));
    });
    IRRewriter rewriter(&getContext());
    for (linalg::AggregatedOpInterface op : ops) {
      if (library) {
        std::string obstacle =
            findObstacle(cast<RankedTensorType>(op->getOperand(0).getType()));
        if (obstacle.empty())
          continue;
        remark::missed(op.getLoc(), decision(Stage::Kernels, "Attention",
                                             getOperation().getSymName()))
            << ("generated code instead of cuDNN: " + obstacle);
      }
      rewriter.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
      if (failed(values))
        return signalPassFailure();
      rewriter.replaceOp(op, *values);
    }
  }
};
} // namespace

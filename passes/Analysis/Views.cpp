//===- Views.cpp ----------------------------------------------------------===//

#include "passes/Analysis/Views.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Interfaces/ElementBytes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

bool lockstep::isJoinedGather(Operation *op) {
  auto concat = dyn_cast<tensor::ConcatOp>(op);
  if (!concat || concat.getResultType().getRank() != 1)
    return false;
  auto first = dyn_cast<OpResult>(concat.getInputs().front());
  if (!first || !isa<collective::WaitOp>(first.getOwner()))
    return false;
  return llvm::all_of(llvm::enumerate(concat.getInputs()), [&](auto input) {
    auto result = dyn_cast<OpResult>(input.value());
    auto type = cast<RankedTensorType>(input.value().getType());
    return result && result.getOwner() == first.getOwner() &&
           result.getResultNumber() ==
               first.getResultNumber() + input.index() &&
           type.hasStaticShape() && getByteSize(type) % kAlignment == 0;
  });
}

bool lockstep::isView(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
             op) ||
         isJoinedGather(op);
}

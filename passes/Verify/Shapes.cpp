//===- Shapes.cpp - Verifies that shapes are equal on all replicas --------===//

#include "passes/Verify/Shapes.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Verify/ReasonNotes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace mlir;

/// The size of dynamic dimension `dimension` of a tensor of type `type`;
/// `sizes` are those of all its dynamic dimensions, in order.
static Value getDynamicSize(RankedTensorType type, int64_t dimension,
                            ValueRange sizes) {
  return sizes[type.getDynamicDimIndex(dimension)];
}

/// Follows `tensor` through its definitions to where the size of dimension
/// `dimension` is determined. Returns a value that determines the size and may
/// differ between replicas: an index, an argument of the function, or the last
/// tensor to which the size could be followed. Null if the size is known to be
/// equal on all replicas: it is static, the tensor is uniform, or the size is
/// an index that is uniform.
static Value findVaryingSize(Value tensor, int64_t dimension,
                             const UniformityAnalysis &uniformity) {
  auto getType = [](Value value) {
    return dyn_cast_or_null<RankedTensorType>(
        replica::getComponent(value.getType()));
  };
  auto unlessUniform = [&](Value size) {
    return uniformity.isUniform(size) ? Value() : size;
  };
  RankedTensorType type = getType(tensor);
  while (type && type.isDynamicDim(dimension) &&
         !uniformity.isUniform(tensor)) {
    auto result = dyn_cast<OpResult>(tensor);
    if (!result) {
      // The arguments of the regions of these operations are their operands.
      auto argument = cast<BlockArgument>(tensor);
      Operation *parent = argument.getOwner()->getParentOp();
      if (!isa<replica::MergeCallOp, replica::RunOp>(parent))
        return tensor;
      tensor = parent->getOperand(argument.getArgNumber());
      type = getType(tensor);
      continue;
    }
    Operation *op = result.getOwner();
    if (auto empty = dyn_cast<tensor::EmptyOp>(op))
      return unlessUniform(
          getDynamicSize(type, dimension, empty.getDynamicSizes()));
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
        slice && slice.getSourceType().getRank() == type.getRank()) {
      OpFoldResult size = slice.getMixedSizes()[dimension];
      return isa<Attribute>(size) ? Value() : unlessUniform(cast<Value>(size));
    }
    if (auto invoke = dyn_cast<device::InvokeOp>(op))
      return unlessUniform(getDynamicSize(
          type, dimension, invoke.getResultSizes(result.getResultNumber())));
    if (isa<replica::MergeCallOp, replica::RunOp>(op))
      tensor = op->getRegion(0).front().getTerminator()->getOperand(
          result.getResultNumber());
    else if (auto cast = dyn_cast<tensor::CastOp>(op))
      tensor = cast.getSource();
    else if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
      tensor = destination.getTiedOpOperand(result)->get();
    else
      return tensor;
    type = getType(tensor);
  }
  return type ? Value() : tensor;
}

/// The verdict on an error: whether `size` is known to differ between replicas.
/// Only an index or an argument of a function determines a size itself; for
/// other tensors this is not known.
static Verdict judgeSize(Value size, Operation *op, Judge &judge) {
  auto argument = dyn_cast<BlockArgument>(size);
  bool isArgument =
      argument && isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (isArgument || size.getType().isIndex())
    return judge.judgeValue(size, op);
  return {false, "whether the sizes are equal could not be decided", nullptr};
}

/// The dimensions in which the operands of a collective may have different
/// sizes on different replicas; nullopt for operations that are not checked.
static std::optional<SmallVector<int64_t>> getRaggedAxes(Operation *op) {
  using Axes = std::optional<SmallVector<int64_t>>;
  return TypeSwitch<Operation *, Axes>(op)
      .Case<replica::AllReduceOp, replica::ReduceToOp, replica::BatchReduceToOp,
            replica::LocalResultsOp>([](auto) { return Axes(std::in_place); })
      .Case<replica::AllReduceSlicesOp, replica::ReduceSlicesOp>(
          [](auto) { return Axes({0}); })
      .Case<replica::AllGatherOp, replica::GatherOp>([](auto gather) {
        return Axes({static_cast<int64_t>(gather.getAxis())});
      })
      .Case([](replica::ReduceOp reduce) {
        return Axes(reduce.getAxes()
                        ? llvm::to_vector(reduce.getAxesAttr().asArrayRef())
                        : SmallVector<int64_t>());
      })
      .Case([](collective::StartOp start) {
        return start.getKindProperties().concatenates() && start.getAxis()
                   ? Axes({static_cast<int64_t>(*start.getAxis())})
                   : Axes(std::in_place);
      })
      .Default([](Operation *) { return std::nullopt; });
}

LogicalResult
lockstep::verifyCollectiveShapes(FunctionOpInterface function,
                                 const UniformityAnalysis &uniformity,
                                 Judge &judge) {
  LogicalResult valid = success();
  uniformity.walkEntered(function, [&](Operation *op) {
    std::optional<SmallVector<int64_t>> ragged = getRaggedAxes(op);
    if (!ragged)
      return;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      auto type = dyn_cast_or_null<RankedTensorType>(
          replica::getComponent(operand.getType()));
      if (!type)
        continue;
      for (int64_t d = 0; d < type.getRank(); ++d) {
        Value size = llvm::is_contained(*ragged, d)
                         ? Value()
                         : findVaryingSize(operand, d, uniformity);
        if (!size)
          continue;
        InFlightDiagnostic diagnostic = emitUserError(op->getLoc());
        diagnostic << "operand " << index << " of '" << op->getName()
                   << "' has type " << type
                   << ", and the size of its dimension " << d
                   << " may differ between replicas [E_SHAPE_MISMATCH]";
        attachVerdict(diagnostic, judgeSize(size, op, judge));
        attachReasonChain(diagnostic, uniformity, operand);
        valid = failure();
        break;
      }
    }
  });
  return valid;
}

//===- Shapes.cpp - All replicas bring the same shapes --------------------===//

#include "passes/Verify/Shapes.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Verify/Story.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace mlir;

/// The SSA value of dynamic dimension `dimension`, of which `sizes` lists all.
static Value getDynamicSize(RankedTensorType type, int64_t dimension, ValueRange sizes) {
  return sizes[type.getDynamicDimIndex(dimension)];
}

bool lockstep::hasUniformSize(Value tensor, int64_t dimension, const UniformityAnalysis &uniformity) {
  auto getType = [](Value value) { return dyn_cast_or_null<RankedTensorType>(replica::getComponent(value.getType())); };
  RankedTensorType type = getType(tensor);
  while (type && type.isDynamicDim(dimension) && !uniformity.isUniform(tensor)) {
    auto result = dyn_cast<OpResult>(tensor);
    if (!result) {
      // What a region of another context gets is what it was given.
      auto argument = cast<BlockArgument>(tensor);
      Operation *parent = argument.getOwner()->getParentOp();
      if (!isa<replica::MergeCallOp, replica::RunOp>(parent))
        return false;
      tensor = parent->getOperand(argument.getArgNumber());
      type = getType(tensor);
      continue;
    }
    Operation *op = result.getOwner();
    if (auto empty = dyn_cast<tensor::EmptyOp>(op))
      return uniformity.isUniform(getDynamicSize(type, dimension, empty.getDynamicSizes()));
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op); slice && slice.getSourceType().getRank() == type.getRank()) {
      OpFoldResult size = slice.getMixedSizes()[dimension];
      return isa<Attribute>(size) || uniformity.isUniform(cast<Value>(size));
    }
    if (auto invoke = dyn_cast<device::InvokeOp>(op))
      return uniformity.isUniform(getDynamicSize(type, dimension, invoke.getResultSizes(result.getResultNumber())));
    if (isa<replica::MergeCallOp, replica::RunOp>(op))
      tensor = op->getRegion(0).front().getTerminator()->getOperand(result.getResultNumber());
    else if (auto cast = dyn_cast<tensor::CastOp>(op))
      tensor = cast.getSource();
    else if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
      tensor = destination.getTiedOpOperand(result)->get();
    else
      return false;
    type = getType(tensor);
  }
  return type != nullptr;
}

/// Dimensions in which the operands of a collective may have different sizes; nullopt for other operations.
static std::optional<SmallVector<int64_t>> getRaggedAxes(Operation *op) {
  using Axes = std::optional<SmallVector<int64_t>>;
  return TypeSwitch<Operation *, Axes>(op)
      .Case<replica::AllReduceOp, replica::ReduceToOp, replica::BatchReduceToOp, replica::LocalResultsOp>([](auto) { return Axes(std::in_place); })
      .Case<replica::AllReduceSlicesOp, replica::ReduceSlicesOp>([](auto) { return Axes({0}); })
      .Case<replica::AllGatherOp, replica::GatherOp>([](auto gather) { return Axes({static_cast<int64_t>(gather.getAxis())}); })
      .Case([](replica::ReduceOp reduce) { return Axes(reduce.getAxes() ? llvm::to_vector(reduce.getAxesAttr().asArrayRef()) : SmallVector<int64_t>()); })
      .Case([](collective::StartOp start) {
        bool gathers = start.getKind() == collective::Kind::AllGather || start.getKind() == collective::Kind::Gather;
        return gathers && start.getAxis() ? Axes({static_cast<int64_t>(*start.getAxis())}) : Axes(std::in_place);
      })
      .Default([](Operation *) { return std::nullopt; });
}

LogicalResult lockstep::verifyCollectiveShapes(FunctionOpInterface function, const UniformityAnalysis &uniformity) {
  LogicalResult valid = success();
  function->walk([&](Operation *op) {
    std::optional<SmallVector<int64_t>> ragged = getRaggedAxes(op);
    if (!ragged)
      return;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      auto type = dyn_cast_or_null<RankedTensorType>(replica::getComponent(operand.getType()));
      if (!type)
        continue;
      for (int64_t d = 0; d < type.getRank(); ++d) {
        if (llvm::is_contained(*ragged, d) || hasUniformSize(operand, d, uniformity))
          continue;
        InFlightDiagnostic diagnostic = emitUserError(op->getLoc());
        diagnostic << "operand " << index << " of '" << op->getName() << "' has type " << type << ", and the size of its dimension " << d
                   << " may differ between replicas [E_SHAPE_MISMATCH]";
        tellWay(diagnostic, uniformity, operand);
        valid = failure();
        break;
      }
    }
  });
  return valid;
}

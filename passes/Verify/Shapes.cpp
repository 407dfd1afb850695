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
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  while (type && type.isDynamicDim(dimension) && !uniformity.isUniform(tensor)) {
    auto result = dyn_cast<OpResult>(tensor);
    if (!result)
      return false;
    Operation *op = result.getOwner();
    if (auto empty = dyn_cast<tensor::EmptyOp>(op))
      return uniformity.isUniform(getDynamicSize(type, dimension, empty.getDynamicSizes()));
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op); slice && slice.getSourceType().getRank() == type.getRank()) {
      OpFoldResult size = slice.getMixedSizes()[dimension];
      return isa<Attribute>(size) || uniformity.isUniform(cast<Value>(size));
    }
    if (auto invoke = dyn_cast<device::InvokeOp>(op))
      return uniformity.isUniform(getDynamicSize(type, dimension, invoke.getResultSizes(result.getResultNumber())));
    if (auto cast = dyn_cast<tensor::CastOp>(op))
      tensor = cast.getSource();
    else if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
      tensor = destination.getTiedOpOperand(result)->get();
    else
      return false;
    type = dyn_cast<RankedTensorType>(tensor.getType());
  }
  return type != nullptr;
}

/// The axis along which the operands of a collective may have different sizes, or -1.
static std::optional<int64_t> getRaggedAxis(Operation *op) {
  return TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([](replica::AllReduceOp) { return -1; })
      .Case([](replica::AllGatherOp gather) { return gather.getAxis(); })
      .Case([](collective::StartOp start) {
        bool gathers = start.getKind() == collective::Kind::AllGather || start.getKind() == collective::Kind::Gather;
        return gathers ? start.getAxis().value_or(-1) : -1;
      })
      .Default([](Operation *) { return std::nullopt; });
}

LogicalResult lockstep::verifyCollectiveShapes(FunctionOpInterface function, const UniformityAnalysis &uniformity) {
  LogicalResult valid = success();
  function->walk([&](Operation *op) {
    std::optional<int64_t> axis = getRaggedAxis(op);
    if (!axis)
      return;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type)
        continue;
      for (int64_t d = 0; d < type.getRank(); ++d) {
        if (d == *axis || hasUniformSize(operand, d, uniformity))
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

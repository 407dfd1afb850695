//===- SizeBounds.cpp - Upper bounds of dynamic sizes ---------------------===//

#include "passes/Analysis/SizeBounds.h"

#include "dialect/Collective/CollectiveDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

static std::optional<int64_t> findInOperands(linalg::LinalgOp op,
                                             OpResult result, int64_t dimension,
                                             int64_t replicas) {
  AffineExpr loop =
      op.getIndexingMapMatchingResult(result).getResult(dimension);
  for (OpOperand *input : op.getDpsInputOperands())
    for (auto [position, expression] :
         llvm::enumerate(op.getMatchingIndexingMap(input).getResults()))
      if (expression == loop)
        if (std::optional<int64_t> bound =
                findSizeBound(input->get(), position, replicas))
          return bound;
  return std::nullopt;
}

static std::optional<int64_t> findInExchange(collective::WaitOp wait,
                                             OpResult result, int64_t dimension,
                                             int64_t replicas) {
  collective::StartOp start = wait.getStart();
  auto type = cast<RankedTensorType>(result.getType());
  if (std::optional<ArrayRef<int64_t>> bounds =
          start.getResultBounds(result.getResultNumber()))
    return (*bounds)[type.getDynamicDimIndex(dimension)];
  if (start.getRoot())
    return std::nullopt;
  std::optional<int64_t> own = findSizeBound(
      start.getInputs()[result.getResultNumber()], dimension, replicas);
  bool isGathered = start.getKindProperties().concatenates() &&
                    start.getAxis() == static_cast<uint64_t>(dimension);
  return own && isGathered ? *own * replicas : own;
}

std::optional<int64_t> lockstep::findSizeBound(Value tensor, int64_t dimension,
                                               int64_t replicas) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(dimension))
    return type.getDimSize(dimension);
  auto result = dyn_cast<OpResult>(tensor);
  if (!result)
    return std::nullopt;
  Operation *op = result.getOwner();
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return slice.getSourceType().getRank() == type.getRank()
               ? findSizeBound(slice.getSource(), dimension, replicas)
               : std::nullopt;
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return findSizeBound(cast.getSource(), dimension, replicas);
  if (auto wait = dyn_cast<collective::WaitOp>(op))
    return findInExchange(wait, result, dimension, replicas);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return findInOperands(linalgOp, result, dimension, replicas);
  return std::nullopt;
}

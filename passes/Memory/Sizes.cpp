//===- Sizes.cpp - Sizes of the tensors of a step -------------------------===//

#include "passes/Memory/Sizes.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

/// The tensor of which `tensor` is a cast. Casts are the only views of tensors
/// of dynamic size; they do not change the number of elements.
static Value skipCasts(Value tensor) {
  while (auto cast = tensor.getDefiningOp<tensor::CastOp>())
    tensor = cast.getSource();
  return tensor;
}

/// The bounds of the dynamic dimensions of `tensor`, in order.
static ArrayRef<int64_t> getBounds(Value tensor) {
  auto result = dyn_cast<OpResult>(tensor);
  if (auto wait = tensor.getDefiningOp<collective::WaitOp>())
    return wait.getStart()
        .getResultBounds(result.getResultNumber())
        .value_or(ArrayRef<int64_t>());
  if (auto invoke = tensor.getDefiningOp<device::InvokeOp>())
    return SymbolTable::lookupNearestSymbolFrom<device::KernelOp>(
               invoke, invoke.getKernelAttr())
        .getResultBounds(result.getResultNumber());
  return {};
}

int64_t lockstep::getByteSize(Value tensor) {
  tensor = skipCasts(tensor);
  auto type = cast<RankedTensorType>(tensor.getType());
  ArrayRef<int64_t> bounds =
      type.hasStaticShape() ? ArrayRef<int64_t>() : getBounds(tensor);
  int64_t bytes = getElementBytes(type.getElementType());
  for (int64_t size : type.getShape()) {
    bytes *= ShapedType::isDynamic(size) ? bounds.front() : size;
    bounds = bounds.drop_front(ShapedType::isDynamic(size));
  }
  return bytes;
}

SmallVector<OpFoldResult> lockstep::getDynamicSizes(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.hasStaticShape())
    return {};
  Value source = skipCasts(tensor);
  auto sourceType = cast<RankedTensorType>(source.getType());
  auto result = dyn_cast<OpResult>(source);
  ValueRange known;
  if (auto wait = source.getDefiningOp<collective::WaitOp>())
    known = wait.getStart().getResultSizes(result.getResultNumber());
  else if (auto invoke = source.getDefiningOp<device::InvokeOp>())
    known = invoke.getResultSizes(result.getResultNumber());
  SmallVector<OpFoldResult> sizes;
  Builder builder(tensor.getContext());
  for (auto [d, size] : llvm::enumerate(sourceType.getShape())) {
    OpFoldResult value = builder.getIndexAttr(size);
    if (ShapedType::isDynamic(size)) {
      value = known.front();
      known = known.drop_front();
    }
    if (type.isDynamicDim(d))
      sizes.push_back(value);
  }
  return sizes;
}

bool lockstep::hasKnownSizes(Value tensor) {
  Operation *op = skipCasts(tensor).getDefiningOp();
  return isa_and_nonnull<device::InvokeOp, collective::WaitOp>(op) ||
         (op &&
          cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape());
}

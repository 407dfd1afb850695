//===- LibraryAttention.cpp - Attention by a library ----------------------===//

#include "passes/Codegen/Gpu/LibraryAttention.h"

#include "dialect/Device/DeviceDialect.h"
#include "passes/Codegen/Gpu/LibraryOperand.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace mlir;
using runtime::GpuAttention;
using runtime::GpuTensor;

/// The dimensions of an operand in the order of `GpuAttention`: of [examples,
/// positions, heads, size of a head], or of statistics, [examples, heads,
/// positions]. None if its place is not known.
static std::optional<GpuTensor> describeTensor(Value memref) {
  std::optional<LibraryOperand> operand = describeOperand(memref);
  if (!operand)
    return std::nullopt;
  GpuTensor tensor;
  tensor.buffer = operand->buffer;
  tensor.offset = operand->offset;
  tensor.element = operand->element;
  bool isStatistics = operand->sizes.size() == 3;
  constexpr unsigned order[] = {0, 2, 1, 3}, ofStatistics[] = {0, 1, 2};
  for (auto [at, dim] :
       llvm::enumerate(isStatistics ? ArrayRef(ofStatistics) : order)) {
    tensor.sizes[at] = operand->sizes[dim];
    // Libraries may check the stride of a dimension of one element, too.
    tensor.strides[at] = std::max<int64_t>(operand->strides[dim], 1);
  }
  return tensor;
}

template <typename OpTy>
static GpuAttention describeAttributes(OpTy op, GpuAttention::Kind kind) {
  GpuAttention found;
  found.kind = kind;
  found.isCausal = op.getCausal();
  found.scaleBits = std::bit_cast<uint64_t>(op.getScale().convertToDouble());
  return found;
}

std::optional<GpuAttention> lockstep::describeAttention(Operation *attention) {
  GpuAttention found;
  SmallVector<GpuTensor *> tensors{&found.query, &found.key, &found.value,
                                   &found.output, &found.statistics};
  if (auto forward = dyn_cast<device::AttentionOp>(attention)) {
    found = describeAttributes(forward, GpuAttention::Forward);
  } else {
    found = describeAttributes(cast<device::AttentionGradientOp>(attention),
                               GpuAttention::Gradient);
    tensors.append({&found.cotangent, &found.queryGradient, &found.keyGradient,
                    &found.valueGradient});
  }
  for (auto [operand, tensor] :
       llvm::zip_equal(attention->getOperands(), tensors)) {
    std::optional<GpuTensor> described = describeTensor(operand);
    if (!described)
      return std::nullopt;
    *tensor = *described;
  }
  SmallVector<uint64_t> bytes =
      getBufferBytes(attention->getParentOfType<func::FuncOp>());
  return found.isValid(bytes) ? std::optional(found) : std::nullopt;
}

//===- CudnnAttentionOperands.cpp - what attention accesses ---------------===//

#include "runtime/device/cuda/CudnnAttentionOperands.h"

#include <fmt/format.h>

namespace lockstep::runtime {

std::span<const AttentionOperand> attentionOperands(uint64_t kind) {
  using enum AttentionName;
  static constexpr AttentionOperand all[] = {
      {Query, &GpuAttention::query, "query"},
      {Key, &GpuAttention::key, "key"},
      {Value, &GpuAttention::value, "value"},
      {Output, &GpuAttention::output, "output"},
      {Statistics, &GpuAttention::statistics, "statistics"},
      {Cotangent, &GpuAttention::cotangent, "cotangent"},
      {QueryGradient, &GpuAttention::queryGradient, "gradient of the query"},
      {KeyGradient, &GpuAttention::keyGradient, "gradient of the key"},
      {ValueGradient, &GpuAttention::valueGradient, "gradient of the value"}};
  constexpr size_t ofForward = 5;
  std::span<const AttentionOperand> operands = all;
  return kind == GpuAttention::Forward ? operands.first(ofForward) : operands;
}

std::vector<AttentionName> attentionNumbers(const GpuAttention &attention) {
  std::vector<AttentionName> names = {AttentionName::Scale};
  if (attention.isCausal)
    names.push_back(AttentionName::Unseen);
  if (attention.kind == GpuAttention::Gradient)
    names.push_back(AttentionName::One);
  return names;
}

static std::optional<std::string>
findUnsupportedStride(const AttentionOperand &operand,
                      const GpuTensor &tensor) {
  constexpr const char *dimensions[] = {"examples", "heads", "positions"};
  if (operand.name == AttentionName::Statistics) {
    if (int64_t stride = tensor.strides[2]; tensor.sizes[2] > 1 && stride != 1)
      return fmt::format("expected a stride of 1 between positions of {}, "
                         "found {}",
                         operand.text, stride);
    return std::nullopt;
  }
  if (int64_t stride = tensor.strides[3]; stride != 1)
    return fmt::format("expected a stride of 1 in heads of the {}, found {}",
                       operand.text, stride);
  for (size_t dim = 0; dim < std::size(dimensions); ++dim)
    if (int64_t stride = tensor.strides[dim];
        tensor.sizes[dim] > 1 && stride % GpuAttention::unit != 0)
      return fmt::format("expected a stride of a multiple of {} elements "
                         "between {} of the {}, found {}",
                         GpuAttention::unit, dimensions[dim], operand.text,
                         stride);
  return std::nullopt;
}

std::optional<std::string>
findUnsupportedStride(const GpuAttention &attention) {
  for (const AttentionOperand &operand : attentionOperands(attention.kind))
    if (std::optional<std::string> found =
            findUnsupportedStride(operand, attention.*operand.tensor))
      return found;
  return std::nullopt;
}

} // namespace lockstep::runtime

//===- GpuAttention.cpp - attention by a library --------------------------===//

#include "runtime/artifact/GpuAttention.h"

#include <cmath>

#include <fmt/format.h>

namespace lockstep::runtime {

using artifact::ElementType;

std::optional<std::string> GpuAttention::findObstacle() const {
  constexpr uint64_t mostOfHead = 128;
  if (ElementType type = query.type();
      type != ElementType::f16 && type != ElementType::bf16)
    return fmt::format("expected elements of f16 or bf16, found {}",
                       elementName(type));
  if (uint64_t size = query.sizes[3]; size % unit != 0 || size > mostOfHead)
    return fmt::format("expected heads of at most {} elements, a multiple of "
                       "{}, found {}",
                       mostOfHead, unit, size);
  if (!std::isfinite(float(scale())))
    return fmt::format("expected a scale that f32 has, found {}", scale());
  if (kind == Gradient && query.sizes[2] == 1 && key.sizes[2] == 1)
    return "expected more positions than one for a gradient, found one of "
           "queries and one of keys";
  return std::nullopt;
}

bool GpuAttention::isValid(std::span<const uint64_t> bufferBytes) const {
  if (kind > Gradient || isCausal > 1 ||
      query.element > uint64_t(ElementType::MAX) || findObstacle())
    return false;
  ElementType type = query.type();
  auto [examples, heads, queries, size] = query.sizes;
  uint64_t keys = key.sizes[2];
  auto fits = [&](const GpuTensor &tensor, ElementType expected,
                  uint64_t positions, uint64_t elements) {
    return isInBuffer(tensor, bufferBytes) && tensor.type() == expected &&
           tensor.sizes == std::array{examples, heads, positions, elements};
  };
  auto ofQueries = [&](const GpuTensor &tensor) {
    return fits(tensor, type, queries, size);
  };
  auto ofKeys = [&](const GpuTensor &tensor) {
    return fits(tensor, type, keys, size);
  };
  return ofQueries(query) && ofKeys(key) && ofKeys(value) &&
         ofQueries(output) && fits(statistics, ElementType::f32, queries, 1) &&
         (kind == Forward ||
          (ofQueries(cotangent) && ofQueries(queryGradient) &&
           ofKeys(keyGradient) && ofKeys(valueGradient)));
}

} // namespace lockstep::runtime

//===- GpuAttention.cpp - attention by a library --------------------------===//

#include "runtime/artifact/GpuAttention.h"

#include <cmath>

namespace lockstep::runtime {

using artifact::ElementType;

bool GpuAttention::isValid(std::span<const uint64_t> bufferBytes) const {
  ElementType type = query.type();
  if (kind > Gradient || isCausal > 1 || !std::isfinite(scale()) ||
      (type != ElementType::f16 && type != ElementType::bf16))
    return false;
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

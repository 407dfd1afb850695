//===- GpuTensor.cpp - tensors that a library accesses --------------------===//

#include "runtime/artifact/GpuTensor.h"

#include "runtime/artifact/GpuLibraryPhases.h"

#include <algorithm>
#include <numeric>

namespace lockstep::runtime {

using artifact::ElementType;

bool isInBuffer(const GpuTensor &tensor,
                std::span<const uint64_t> bufferBytes) {
  if (tensor.buffer >= bufferBytes.size() ||
      tensor.element > uint64_t(ElementType::MAX) || !isFloat(tensor.type()))
    return false;
  // Sizes and strides are below 2^31.
  using Wide = unsigned __int128;
  std::array<size_t, 4> order{};
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {},
                           [&](size_t dim) { return tensor.strides[dim]; });
  Wide elements = 1;
  for (size_t dim : order) {
    uint64_t size = tensor.sizes[dim];
    int64_t stride = tensor.strides[dim];
    if (!isLibrarySize(size) || stride < 1 || !isLibraryStride(stride) ||
        (size > 1 && Wide(stride) < elements))
      return false;
    elements += Wide(size - 1) * Wide(stride);
  }
  uint64_t size = elementSize(tensor.type()),
           bytes = bufferBytes[tensor.buffer];
  return tensor.offset % size == 0 && tensor.offset <= bytes &&
         elements * size <= bytes - tensor.offset;
}

} // namespace lockstep::runtime

//===- GpuConvolutions.cpp - convolutions by a library --------------------===//

#include "runtime/artifact/GpuConvolutions.h"

#include <algorithm>
#include <numeric>

namespace lockstep::runtime {

using artifact::ElementType;

/// Whether the tensor is in its buffer, with each element in its own place: in
/// the order of strides, a dimension does not reach into the next one.
static bool isTensor(const GpuTensor &tensor,
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

/// Whether a result along a dimension has as many elements as the filter has
/// positions in the image.
static bool isWindow(uint64_t image, uint64_t filter, uint64_t result,
                     uint64_t stride, uint64_t dilation) {
  if (!isLibrarySize(stride) || !isLibrarySize(dilation))
    return false;
  uint64_t window = (filter - 1) * dilation + 1;
  return window <= image && (image - window) / stride + 1 == result;
}

bool GpuConvolution::isValid(std::span<const uint64_t> bufferBytes) const {
  ElementType type = image.type();
  if (kind > FilterGradient || roundsFactors > 1 ||
      !isTensor(image, bufferBytes) || !isTensor(filter, bufferBytes) ||
      !isTensor(result, bufferBytes) || filter.type() != type ||
      result.type() != type || elementSize(type) > 4 ||
      image.sizes[0] != result.sizes[0] || image.sizes[1] != filter.sizes[1] ||
      filter.sizes[0] != result.sizes[1])
    return false;
  for (size_t dim = 0; dim < strides.size(); ++dim)
    if (!isWindow(image.sizes[2 + dim], filter.sizes[2 + dim],
                  result.sizes[2 + dim], strides[dim], dilations[dim]))
      return false;
  return true;
}

} // namespace lockstep::runtime

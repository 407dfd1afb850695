//===- GpuConvolutions.cpp - convolutions by a library --------------------===//

#include "runtime/artifact/GpuConvolutions.h"

namespace lockstep::runtime {

using artifact::ElementType;

/// Whether a result along a dimension has as many elements as the filter has
/// positions in the image.
static bool isWindow(uint64_t image, uint64_t filter, uint64_t result,
                     uint64_t stride, uint64_t dilation) {
  if (!isLibrarySize(stride) || !isLibrarySize(dilation))
    return false;
  uint64_t window = (filter - 1) * dilation + 1;
  return window <= image && (image - window) / stride + 1 == result;
}

/// Whether the epilogue is one for which cuDNN has engines.
static bool hasValidEpilogue(const GpuConvolution &convolution) {
  const GpuEpilogue &epilogue = convolution.epilogue;
  return epilogue.isNone() ||
         (convolution.kind == GpuConvolution::Result && epilogue.hasBias &&
          epilogue.activation != GpuActivation::Gelu);
}

bool GpuConvolution::isValid(std::span<const uint64_t> bufferBytes) const {
  ElementType type = image.type();
  if (kind > FilterGradient || roundsFactors > 1 ||
      !isInBuffer(image, bufferBytes) || !isInBuffer(filter, bufferBytes) ||
      !isInBuffer(result, bufferBytes) || filter.type() != type ||
      result.type() != type || elementSize(type) > 4 ||
      image.sizes[0] != result.sizes[0] || image.sizes[1] != filter.sizes[1] ||
      filter.sizes[0] != result.sizes[1] || !hasValidEpilogue(*this) ||
      !epilogue.isValid(type, result.sizes[1], bufferBytes))
    return false;
  for (size_t dim = 0; dim < strides.size(); ++dim)
    if (!isWindow(image.sizes[2 + dim], filter.sizes[2 + dim],
                  result.sizes[2 + dim], strides[dim], dilations[dim]))
      return false;
  return true;
}

} // namespace lockstep::runtime

//===- GpuTensor.h - tensors that a library accesses ------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_GPUTENSOR_H
#define LOCKSTEP_RUNTIME_ARTIFACT_GPUTENSOR_H

#include "runtime/schema/Types.h"

#include <array>
#include <cstdint>
#include <span>

namespace lockstep::runtime {

/// A tensor of four dimensions in one of the buffers of a launch.
struct GpuTensor {
  uint64_t buffer = 0;
  /// Bytes from the beginning of the buffer.
  uint64_t offset = 0;
  /// An `artifact::ElementType`.
  uint64_t element = 0;
  std::array<uint64_t, 4> sizes = {1, 1, 1, 1};
  /// In elements.
  std::array<int64_t, 4> strides = {1, 1, 1, 1};

  artifact::ElementType type() const { return artifact::ElementType(element); }
};

/// Whether the tensor is in one of the buffers of these sizes, with elements
/// that are floats, each in its own place: in the order of strides, a dimension
/// does not reach into the next one. Sizes and strides are at least 1, and
/// below 2^31.
bool isInBuffer(const GpuTensor &tensor, std::span<const uint64_t> bufferBytes);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_GPUTENSOR_H

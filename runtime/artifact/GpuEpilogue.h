//===- GpuEpilogue.h - what a library adds to a product ---------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_GPUEPILOGUE_H
#define LOCKSTEP_RUNTIME_ARTIFACT_GPUEPILOGUE_H

#include "runtime/artifact/GpuLibraryPhases.h"
#include "runtime/schema/Types.h"

#include <cstdint>
#include <span>

namespace lockstep::runtime {

/// `Gelu` is the approximation by a hyperbolic tangent. Both may make 0 of a
/// NaN.
enum class GpuActivation : uint64_t { None, Relu, Gelu };

/// What a library does with a product or a convolution of f32 before it stores
/// the result: a bias is added, which has one element for each column, or for
/// each channel, and then an activation is applied.
struct GpuEpilogue {
  /// 1: there is a bias, contiguous elements of f32; otherwise, its place is 0.
  uint64_t hasBias = 0;
  uint64_t biasBuffer = 0;
  /// Bytes from the beginning of the buffer: a multiple of
  /// `mostLibraryAlignment`, since NVIDIA does not say how a bias has to be
  /// aligned.
  uint64_t biasOffset = 0;
  GpuActivation activation = GpuActivation::None;

  bool isNone() const { return !hasBias && activation == GpuActivation::None; }
  /// Whether it is one of a result of this type with so many columns, in
  /// buffers of these sizes.
  bool isValid(artifact::ElementType result, uint64_t columns,
               std::span<const uint64_t> bufferBytes) const {
    if (hasBias > 1 || activation > GpuActivation::Gelu ||
        (!isNone() && result != artifact::ElementType::f32))
      return false;
    if (!hasBias)
      return biasBuffer == 0 && biasOffset == 0;
    return biasBuffer < bufferBytes.size() &&
           biasOffset % mostLibraryAlignment == 0 &&
           biasOffset <= bufferBytes[biasBuffer] &&
           columns * elementSize(result) <=
               bufferBytes[biasBuffer] - biasOffset;
  }
  /// The bias among these buffers, or null.
  std::byte *bias(std::span<std::byte *const> buffers) const {
    return hasBias ? buffers[biasBuffer] + biasOffset : nullptr;
  }
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_GPUEPILOGUE_H

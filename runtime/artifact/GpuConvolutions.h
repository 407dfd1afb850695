//===- GpuConvolutions.h - convolutions by a library ------------*- C++ -*-===//
//
// For a kernel SYM of which a library may compute convolutions, an image
// defines
//
//   SYM$convolutions   i64: the words of `GpuConvolution`, one after the other,
//                      in ascending order of phases
//
// besides the symbols of GpuSymbols.h (see GpuLibraryPhases.h).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_GPUCONVOLUTIONS_H
#define LOCKSTEP_RUNTIME_ARTIFACT_GPUCONVOLUTIONS_H

#include "runtime/artifact/GpuEpilogue.h"
#include "runtime/artifact/GpuLibraryPhases.h"
#include "runtime/artifact/GpuTensor.h"

#include <string_view>

namespace lockstep::runtime {

inline constexpr std::string_view gpuConvolutionsSuffix = "$convolutions";

/// What a phase of a kernel computes, with images of [examples, inputs, height,
/// width], filters of [outputs, inputs, height, width] and results of
/// [examples, outputs, height, width]:
///
///   result[n, k, p, q] = sum of image[n, c, p * strides[0] + r * dilations[0],
///                                     q * strides[1] + s * dilations[1]]
///                               * filter[k, c, r, s]
///
/// for all c, r and s; or the gradient of a filter, `filter[k, c, r, s]`, as
/// the sum of the same elements of `image` times `result[n, k, p, q]` for all
/// n, p and q. Sums are in f32, and rounded once. Only a result of f32 may have
/// an epilogue: a bias, alone or with a ReLU.
struct GpuConvolution {
  using Words = std::array<uint64_t, 44>;
  enum Kind : uint64_t { Result, FilterGradient };

  uint64_t phase = 0;
  uint64_t kind = Result;
  /// 1: factors of 32 bits may be rounded to tf32.
  uint64_t roundsFactors = 0;
  std::array<uint64_t, 2> strides = {1, 1}, dilations = {1, 1};
  GpuTensor image, filter, result;
  GpuEpilogue epilogue;

  Words toWords() const { return std::bit_cast<Words>(*this); }
  /// The tensor that is computed.
  const GpuTensor &computed() const { return kind == Result ? result : filter; }
  /// Whether it can be computed in buffers of these sizes: not if a size is 0,
  /// if a size or a stride is 2^31 or more, if two elements of a tensor share
  /// a place, if a tensor exceeds its buffer, if the sizes do not fit together,
  /// or with other element types than f16, bf16 and f32, or other epilogues.
  bool isValid(std::span<const uint64_t> bufferBytes) const;
};
static_assert(sizeof(GpuConvolution) == sizeof(GpuConvolution::Words));

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_GPUCONVOLUTIONS_H

//===- GpuAttention.h - attention by a library ------------------*- C++ -*-===//
//
// For a kernel SYM of which a library computes attention, an image defines
//
//   SYM$attention   i64: the words of `GpuAttention`, one after the other, in
//                   ascending order of phases
//
// besides the symbols of GpuSymbols.h (see GpuLibraryPhases.h). Unlike those of
// products and convolutions, these phases have no functions, and
// `gpuLibraryBlocks` blocks: what the library does not support is an error of
// the run.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_GPUATTENTION_H
#define LOCKSTEP_RUNTIME_ARTIFACT_GPUATTENTION_H

#include "runtime/artifact/GpuLibraryPhases.h"
#include "runtime/artifact/GpuTensor.h"

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::runtime {

inline constexpr std::string_view gpuAttentionSuffix = "$attention";

/// An attention, or its gradient, of tensors of f16 or bf16, all of one type:
/// [examples, heads, positions, size of a head], and statistics of f32,
/// [examples, heads, positions of queries, 1]:
///
///   scores[b, n, t, s] = scale * sum of query[b, n, t, h] * key[b, n, s, h]
///   statistics[b, n, t, 0] = log of the sum of exp(scores[b, n, t, s])
///   output[b, n, t, h] = sum of exp(scores[b, n, t, s] - statistics[b, n, t])
///                               * value[b, n, s, h]
///
/// for all s; in a causal attention, for those up to t. The gradient has
/// `output` and `statistics` as operands, and the cotangent of `output`.
struct GpuAttention {
  using Words = std::array<uint64_t, 103>;
  enum Kind : uint64_t { Forward, Gradient };
  /// What the size of a head, strides but for that along a head, and offsets
  /// are multiples of, in elements: they have 16 bytes.
  static constexpr int64_t unit = 8;

  uint64_t phase = 0;
  uint64_t kind = Forward;
  uint64_t isCausal = 0;
  /// The bits of an f64.
  uint64_t scaleBits = 0;
  GpuTensor query, key, value, output, statistics;
  /// Of `Gradient` only.
  GpuTensor cotangent, queryGradient, keyGradient, valueGradient;

  Words toWords() const { return std::bit_cast<Words>(*this); }
  double scale() const { return std::bit_cast<double>(scaleBits); }
  /// What the library does not support of the elements, the sizes and the
  /// scale, of which queries and keys are considered: "expected ..., found
  /// ..."; none if there is nothing.
  std::optional<std::string> findObstacle() const;
  /// Whether it can be computed in buffers of these sizes: not if a tensor is
  /// not in its buffer, if the sizes do not fit together, or if there is an
  /// obstacle.
  bool isValid(std::span<const uint64_t> bufferBytes) const;
};
static_assert(sizeof(GpuAttention) == sizeof(GpuAttention::Words));

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_GPUATTENTION_H

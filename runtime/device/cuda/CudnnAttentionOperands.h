//===- CudnnAttentionOperands.h - what attention accesses -------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNATTENTIONOPERANDS_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNATTENTIONOPERANDS_H

#include "runtime/artifact/GpuAttention.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// Earlier versions do not plan all attention for all GPUs.
inline constexpr size_t leastCudnnForAttention = 91600;

/// The names of what an attention accesses in a plan.
enum class AttentionName : int64_t {
  Query = 1,
  Key,
  Value,
  Output,
  Statistics,
  Cotangent,
  QueryGradient,
  KeyGradient,
  ValueGradient,
  /// Numbers of f32 in memory of the host: the scale of scores, the score of a
  /// key that a query does not see, which is minus infinity, and 1.
  Scale,
  Unseen,
  One,
  /// Working memory of a gradient, an f32 for each query of each head and
  /// example, one after the other: the sum of cotangent * output.
  Sums
};

/// What all addresses are multiples of, in bytes.
inline constexpr uint64_t attentionAlignment = 2 * GpuAttention::unit;

/// A tensor of an attention.
struct AttentionOperand {
  AttentionName name;
  GpuTensor GpuAttention::*tensor;
  /// For people: "query".
  const char *text;
};

/// The tensors of an attention of this kind.
std::span<const AttentionOperand> attentionOperands(uint64_t kind);

/// The numbers that its plan needs.
std::vector<AttentionName> attentionNumbers(const GpuAttention &attention);

/// A stride with which cuDNN may crash, or have wrong results, without saying
/// so: "expected ..., found ..."; none if there is no such stride.
std::optional<std::string> findUnsupportedStride(const GpuAttention &attention);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNATTENTIONOPERANDS_H

//===- AttentionReference.h - attention in f64 ------------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_ATTENTIONREFERENCE_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_ATTENTIONREFERENCE_H

#include "runtime/artifact/GpuAttention.h"

#include <cstddef>
#include <vector>

namespace lockstep::runtime::test {

/// The elements of a tensor, in the order of its dimensions.
using Elements = std::vector<double>;

/// The buffers of a launch, in memory of the host.
using Buffers = std::vector<std::vector<std::byte>>;

/// Of f16, bf16 or f32.
Elements loadTensor(const GpuTensor &tensor, const Buffers &buffers);
/// Rounds the elements.
void storeTensor(const GpuTensor &tensor, const Elements &elements,
                 Buffers &buffers);

struct AttentionResults {
  Elements output, statistics, queryGradient, keyGradient, valueGradient;
};

/// What `attention` describes, a gradient, of its operands in these buffers,
/// with an output and statistics that are not rounded.
AttentionResults computeAttention(const GpuAttention &attention,
                                  const Buffers &buffers);

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_ATTENTIONREFERENCE_H

//===- ReduceKernels.h - the arithmetic of reductions -----------*- C++ -*-===//
//
// Element-wise loops, compiled once for each x86-64 level and selected at the
// first use. The elements of a loop are independent, so all levels have bitwise
// equal results.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_COLLECTIVES_REDUCEKERNELS_H
#define LOCKSTEP_RUNTIME_COLLECTIVES_REDUCEKERNELS_H

#include "runtime/schema/artifact_generated.h"

#include <cstdint>

namespace lockstep::runtime {

/// Loops for one element type T and one reduction. A is the accumulator: f32
/// for f16 and bf16, else T. Pointers of one call must not overlap; `n` counts
/// elements.
struct ReduceFunctions {
  /// Bytes of one T and one A.
  uint32_t elementSize = 0, accumulatorSize = 0;
  /// acc[i] = a[i]
  void (*load)(void *acc, const void *a, int64_t n) = nullptr;
  /// acc[i] = a[i] + b[i]
  void (*reduce2)(void *acc, const void *a, const void *b, int64_t n) = nullptr;
  /// acc[i] = (a[i] + b[i]) + (c[i] + d[i])
  void (*reduce4)(void *acc, const void *a, const void *b, const void *c,
                  const void *d, int64_t n) = nullptr;
  /// acc[i] = acc[i] + a[i], where a is of T
  void (*addElement)(void *acc, const void *a, int64_t n) = nullptr;
  /// acc[i] = acc[i] + other[i], where other is of A
  void (*addAccumulator)(void *acc, const void *other, int64_t n) = nullptr;
  /// out[i] = round(acc[i]), to nearest, ties to even
  void (*store)(void *out, const void *acc, int64_t n) = nullptr;
  /// Copies `n` bytes through the cache. (The C library's memcpy uses string
  /// instructions for blocks of this size, which are several times slower on
  /// some machines.)
  void (*copy)(void *out, const void *in, int64_t n) = nullptr;
};

/// The loops for this CPU; `load` is null if the verifier rejects the
/// combination.
const ReduceFunctions &reduceFunctions(artifact::ElementType element,
                                       artifact::Reduction reduction);

/// The same for one level ("x86-64", "x86-64-v3", "x86-64-v4"), for tests; the
/// CPU must have it.
const ReduceFunctions &reduceFunctions(artifact::ElementType element,
                                       artifact::Reduction reduction,
                                       const char *level);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_COLLECTIVES_REDUCEKERNELS_H

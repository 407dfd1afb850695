//===- ReduceTree.h - order of the operands of a reduction ------*- C++ -*-===//
//
// A reduction over n ranks follows one binary tree that depends on n alone:
//
//   reduce(lo, n) = reduce(lo, k) + reduce(lo + k, n - k),
//   k the largest power of two below n
//
//   n = 3: (0 + 1) + 2          n = 6: ((0 + 1) + (2 + 3)) + (4 + 5)
//
// So the bits of a result do not depend on threads, workers, blocks or
// processes. A process with a contiguous block of ranks can reduce the complete
// subtrees in it and send only their results.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_COLLECTIVES_REDUCETREE_H
#define LOCKSTEP_RUNTIME_COLLECTIVES_REDUCETREE_H

#include "runtime/collectives/ReduceKernels.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace lockstep::runtime {

/// Bytes of accumulators in one block: small enough that the block of every
/// level of the tree stays in the first two caches.
inline constexpr uint64_t reduceBlockBytes = 16 * 1024;

/// Scratch blocks that `reduceTree` needs for n ranks, the accumulator not
/// counted.
inline uint32_t reduceScratchBlocks(uint32_t n) {
  return n <= 4 ? 0 : uint32_t(std::bit_width(n - 1));
}

/// Blocks of scratch for n ranks: for `reduceTree`, and for the same tree over
/// partial results.
inline uint32_t scratchBlocks(uint32_t n) {
  return uint32_t(std::bit_width(n)) + 1;
}

/// acc[0, count) = reduction of sources[0..n)[0, count). `scratch` holds
/// `reduceScratchBlocks(n)` blocks of `reduceBlockBytes`; `acc` overlaps no
/// source.
inline void reduceTree(const ReduceFunctions &functions, std::byte *acc,
                       const std::byte *const *sources, uint32_t n,
                       int64_t count, std::byte *scratch) {
  if (n == 1)
    return functions.load(acc, sources[0], count);
  if (n == 2)
    return functions.reduce2(acc, sources[0], sources[1], count);
  if (n == 4)
    return functions.reduce4(acc, sources[0], sources[1], sources[2],
                             sources[3], count);
  uint32_t low = std::bit_floor(n - 1);
  reduceTree(functions, acc, sources, low, count, scratch);
  if (n - low == 1)
    return functions.addElement(acc, sources[low], count);
  reduceTree(functions, scratch, sources + low, n - low, count,
             scratch + reduceBlockBytes);
  functions.addAccumulator(acc, scratch, count);
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_COLLECTIVES_REDUCETREE_H

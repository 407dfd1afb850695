//===- KernelAbi.h - between compiled kernels and their runner --*- C++ -*-===//
//
// A kernel is compiled to `void kernel(Thread *, count, step)`, which executes
// threads of one row, or a single one. Compiled code reads the state of its
// thread at fixed offsets, and calls the functions below for what it does not
// do itself.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_KERNELABI_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_KERNELABI_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::standin {

/// Addresses of the device are those of the host and this, so that no x86-64
/// processor accepts them.
inline constexpr uint64_t addressBias = uint64_t(1) << 62;

/// Where other memory is in the generic address space. No address with one of
/// these bits is an allocation's.
inline constexpr uint64_t sharedWindow = uint64_t(1) << 58;
inline constexpr uint64_t localWindow = uint64_t(1) << 57;
inline constexpr uint64_t paramWindow = uint64_t(1) << 56;

/// The first address of shared memory, which is not null.
inline constexpr uint64_t sharedStart = 0x400;

inline constexpr uint32_t warpSize = 32;

/// What fresh memory has: a NaN in every floating-point format, and far out of
/// bounds as an index.
inline constexpr uint32_t freshGlobal = 0x7FFF7FFF;
inline constexpr uint32_t freshShared = 0xFFB5FFB5;
inline constexpr uint32_t freshLocal = 0x7FD57FD5;

/// The allocation that an access of the kernel was in the last time.
struct AccessSite {
  uint64_t base = ~uint64_t(0);
  /// The greatest offset that the access may have.
  uint64_t limit = 0;
};

class Block;

/// The state of a thread. The loop over the threads of a row changes the first
/// and the fourth field.
struct Thread {
  uint32_t threadIndex[3];
  uint32_t linearIndex;
  uint32_t blockDim[3];
  uint32_t blockIndex[3];
  uint32_t gridDim[3];
  uint32_t sharedBytes;
  uint32_t localBytes;
  uint32_t paramBytes;
  std::byte *shared;
  std::byte *local;
  std::byte *params;
  AccessSite *sites;
  Block *block;
};

/// Operations among the threads of a warp.
enum class WarpOperation : uint32_t {
  ShuffleUp,
  ShuffleDown,
  ShuffleXor,
  ShuffleIndex,
  VoteAll,
  VoteAny,
  VoteUniform,
  VoteBallot,
  MatchAny,
  MatchAll,
  ReduceAdd,
  ReduceMinSigned,
  ReduceMaxSigned,
  ReduceMinUnsigned,
  ReduceMaxUnsigned,
  ReduceAnd,
  ReduceOr,
  ReduceXor,
  Synchronize,
  /// The value is the address of the thread's `MatrixOperands`.
  MultiplyTf32,
  MultiplyF16,
  MultiplyBF16,
};

/// The registers of a thread in `mma.m16n8k8` (of tf32) and `mma.m16n8k16` (of
/// 16 bits), whose sums are f32.
struct MatrixOperands {
  uint32_t a[4];
  uint32_t b[2];
  /// The result replaces them.
  float c[4];
};

/// Reductions of a barrier.
enum class BarrierOperation : uint32_t { None, Count, And, Or };

/// Spaces of accesses that compiled code could not show to be right.
enum class AccessSpace : uint32_t { Global, Generic, Shared, Local, Param };

/// Formats that numbers are rounded to.
enum class Format : uint32_t { F16, BF16, F32, F64 };
enum class Rounding : uint32_t { Nearest, Zero, Down, Up };
/// What is computed with a rounding other than to nearest.
enum class Arithmetic : uint32_t { Add, Sub, Mul, Div, Fma, Sqrt };

struct RuntimeFunction {
  const char *name;
  void *address;
};

/// The functions that compiled code may call.
std::span<const RuntimeFunction> runtimeFunctions();
/// Those among them that compute.
std::span<const RuntimeFunction> mathFunctions();

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_KERNELABI_H

//===- CudaLibraryPhase.h - phases of kernels by libraries ------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDALIBRARYPHASE_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDALIBRARYPHASE_H

#include "runtime/artifact/GpuLibraryPhases.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <cuda.h>

namespace lockstep::runtime {

/// A phase of a kernel that a library may compute, instead of a function if
/// there is one.
/// Thread-safe.
class CudaLibraryPhase {
public:
  /// What computes it, what it is, and the compiler's option that asks for it:
  /// "cuBLASLt", "product" and "--products=cublaslt".
  struct Kind {
    const char *library, *name, *option;
  };

  explicit CudaLibraryPhase(const Kind &kind) : kind(kind) {}
  virtual ~CudaLibraryPhase() = default;
  CudaLibraryPhase(const CudaLibraryPhase &) = delete;
  CudaLibraryPhase &operator=(const CudaLibraryPhase &) = delete;

  /// Chooses how to compute it in the buffers of a launch, when operands of
  /// their alignment are first given. Returns the bytes of working memory that
  /// this needs, aligned to 256 bytes; none if the library does not support it.
  /// Error: of the library.
  virtual Expected<std::optional<uint64_t>>
  prepare(std::span<std::byte *const> buffers) = 0;
  /// Enqueues it after `prepare` with the same buffers; the context is current.
  /// False, if the library refuses it nevertheless, and for later calls of
  /// `prepare`, too. Error: of the library, or of an earlier command of the
  /// GPU.
  virtual Expected<bool> enqueue(std::span<std::byte *const> buffers,
                                 CUdeviceptr workspace, CUstream stream) = 0;
  /// What the library has refused, and why, as far as it says so; none if it
  /// has refused nothing.
  virtual std::optional<std::string> refusal() = 0;

  const Kind &kind;
};

/// The alignment of an address and of a distance from it, at most
/// `mostLibraryAlignment`: where the memory plan has placed a buffer must not
/// decide about an algorithm, and so about the order of sums.
inline uint32_t libraryAlignment(const std::byte *address, uint64_t distance) {
  uint64_t bits =
      reinterpret_cast<uint64_t>(address) | distance | mostLibraryAlignment;
  return uint32_t(bits & -bits);
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDALIBRARYPHASE_H

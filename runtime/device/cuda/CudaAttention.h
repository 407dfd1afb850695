//===- CudaAttention.h - attention by cuDNN ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAATTENTION_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAATTENTION_H

#include "runtime/artifact/GpuAttention.h"
#include "runtime/device/cuda/CudaLibraryPhase.h"
#include "runtime/device/cuda/CudnnAttentionOperands.h"
#include "runtime/device/cuda/CudnnLibrary.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace lockstep::runtime {

/// An attention, or its gradient, that cuDNN computes. The working memory of a
/// gradient grows with the product of the numbers of queries and keys: where
/// that is too much, it computes some examples, or some heads of an example,
/// after the others, and takes what the smallest part needs.
class CudaAttention final : public CudaLibraryPhase {
public:
  /// `attention` is valid.
  CudaAttention(std::shared_ptr<CudnnLibrary> library,
                const GpuAttention &attention,
                uint64_t mostWorkspaceBytes = CudnnLibrary::mostWorkspaceBytes);

  Expected<std::optional<uint64_t>>
  prepare(std::span<std::byte *const> buffers) override;
  Expected<bool> enqueue(std::span<std::byte *const> buffers,
                         CUdeviceptr workspace, CUstream stream) override;
  std::optional<std::string> refusal() override;

private:
  /// How many examples, and how many heads of each, are computed at a time:
  /// divisors of their numbers.
  struct Slice {
    uint64_t examples = 0, heads = 0;
  };

  bool isGradient() const { return attention.kind == GpuAttention::Gradient; }
  std::byte *addressOf(const GpuTensor &tensor,
                       std::span<std::byte *const> buffers) const {
    return buffers[tensor.buffer] + tensor.offset;
  }
  /// Bytes in front of the library's working memory.
  uint64_t bytesOfSums(const Slice &tried) const;
  /// Whether each slice begins at aligned addresses.
  bool isAligned(const Slice &tried) const;
  /// Those that begin at aligned addresses, largest first.
  std::vector<Slice> slices() const;
  /// What the library needs for a slice at least, with the sums.
  uint64_t leastBytes(const Slice &tried) const;
  /// Sets the slice and its plan, or `reason`. Error: of the library.
  Status choose();
  Expected<CudnnPlan> planFor(const Slice &tried, uint64_t mostBytes,
                              std::string &refused) const;
  /// What the plan is executed with for the slice that begins with this head of
  /// this example.
  Expected<CudnnDescriptor> pack(std::span<std::byte *const> buffers,
                                 CUdeviceptr workspace, uint64_t example,
                                 uint64_t head) const;

  const std::shared_ptr<CudnnLibrary> library;
  const GpuAttention attention;
  const uint64_t mostWorkspaceBytes;
  /// In memory that lives as long as the phase: the library reads numbers when
  /// a plan is executed.
  const float scale, unseen, one = 1;

  std::mutex mutex;
  /// What is chosen does not change. The plan is kept when the library has
  /// refused it: other threads may execute it, or graphs that they have
  /// recorded.
  bool isChosen = false;
  Slice slice;
  CudnnPlan plan;
  /// Of the refusal; empty if there is none.
  std::string reason;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAATTENTION_H

//===- CudnnPlan.h - how cuDNN computes a convolution -----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNPLAN_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNPLAN_H

#include "runtime/artifact/GpuConvolutions.h"
#include "runtime/device/cuda/CudnnApi.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::runtime {

/// A descriptor of cuDNN, of an operand, an operation, a plan and so on.
class CudnnDescriptor {
public:
  CudnnDescriptor() = default;
  CudnnDescriptor(const CudnnApi &api, cudnnBackendDescriptor_t descriptor)
      : api(&api), descriptor(descriptor) {}
  CudnnDescriptor(CudnnDescriptor &&other) noexcept
      : api(other.api), descriptor(std::exchange(other.descriptor, nullptr)) {}
  CudnnDescriptor &operator=(CudnnDescriptor &&other) noexcept {
    std::swap(api, other.api);
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~CudnnDescriptor() {
    if (descriptor)
      api->cudnnBackendDestroyDescriptor(descriptor);
  }

  /// Null: nothing is described.
  cudnnBackendDescriptor_t get() const { return descriptor; }

private:
  const CudnnApi *api = nullptr;
  cudnnBackendDescriptor_t descriptor = nullptr;
};

/// The alignments in bytes of the image, the filter and the result.
using CudnnAlignments = std::array<int64_t, 3>;

/// The names of the image, the filter and the result in a plan.
inline constexpr std::array<int64_t, 3> cudnnNames = {1, 2, 3};

/// An engine of cuDNN, and its parameters. Several threads may execute it, each
/// with a handle of its own.
struct CudnnPlan {
  /// The graph and all else that the plan was made of.
  std::vector<CudnnDescriptor> parts;
  CudnnDescriptor plan;
  uint64_t workspaceBytes = 0;
};

/// For which GPU plans are made: that of a handle, or, without one, that of a
/// descriptor of a GPU's properties.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  cudnnBackendDescriptor_t properties = nullptr;
};

/// The plan of the first engine that the library recommends for the convolution
/// of those that have the same result in each run, multiply the factors as they
/// are, sum in f32, and need no more working memory than this. Factors of 32
/// bits are multiplied on tensor cores, which round them, only if they may be
/// rounded. If there is no such engine, `plan` of the result is null and
/// `refusal` is what the library said last. Errors: of the library.
Expected<CudnnPlan> planConvolution(const CudnnApi &api,
                                    const CudnnTarget &target,
                                    const GpuConvolution &convolution,
                                    const CudnnAlignments &alignments,
                                    uint64_t mostWorkspaceBytes,
                                    std::string &refusal);

/// What a plan is executed with: the addresses of the image, the filter and the
/// result, and of working memory. Error: of the library.
Expected<CudnnDescriptor>
packOperands(const CudnnApi &api, const std::array<std::byte *, 3> &addresses,
             void *workspace);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNPLAN_H

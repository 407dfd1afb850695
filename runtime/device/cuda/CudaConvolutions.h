//===- CudaConvolutions.h - convolutions by cuDNN ---------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDACONVOLUTIONS_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDACONVOLUTIONS_H

#include "runtime/artifact/GpuConvolutions.h"
#include "runtime/device/cuda/CudaLibraryPhase.h"
#include "runtime/device/cuda/CudnnConvolutionGraph.h"
#include "runtime/device/cuda/CudnnLibrary.h"

#include <map>
#include <memory>
#include <mutex>

namespace lockstep::runtime {

/// A convolution that cuDNN may compute.
class CudaConvolution final : public CudaLibraryPhase {
public:
  CudaConvolution(std::shared_ptr<CudnnLibrary> library,
                  const GpuConvolution &convolution);

  Expected<std::optional<uint64_t>>
  prepare(std::span<std::byte *const> buffers) override;
  Expected<bool> enqueue(std::span<std::byte *const> buffers,
                         CUdeviceptr workspace, CUstream stream) override;
  std::optional<std::string> refusal() override;

private:
  /// In the order of `convolutionNames`; that of the bias may be null.
  std::array<const void *, 4>
  addressesOf(std::span<std::byte *const> buffers) const;
  CudnnAlignments alignmentsOf(std::span<std::byte *const> buffers) const;

  const std::shared_ptr<CudnnLibrary> library;
  const GpuConvolution convolution;
  std::mutex mutex;
  /// A plan is kept when the library has refused it: other threads may execute
  /// it, or graphs that they have recorded.
  struct Choice {
    CudnnPlan plan;
    bool isRefused;
  };
  std::map<CudnnAlignments, Choice> plans;
  std::string reason;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDACONVOLUTIONS_H

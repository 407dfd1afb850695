//===- CudaConvolutions.h - convolutions by cuDNN ---------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDACONVOLUTIONS_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDACONVOLUTIONS_H

#include "runtime/artifact/GpuConvolutions.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaLibraryPhase.h"
#include "runtime/device/cuda/CudnnPlan.h"

#include <map>
#include <memory>
#include <mutex>

namespace lockstep::runtime {

/// cuDNN on a GPU.
class CudaConvolutionLibrary {
public:
  /// Errors: those of `CudnnApi::load`, and of the library.
  static Expected<std::shared_ptr<CudaConvolutionLibrary>>
  create(std::shared_ptr<CudaContext> context);
  ~CudaConvolutionLibrary();
  CudaConvolutionLibrary(const CudaConvolutionLibrary &) = delete;
  CudaConvolutionLibrary &operator=(const CudaConvolutionLibrary &) = delete;

  /// The handle for a stream, on which one thread at a time enqueues; the
  /// context is current. Error: of the library.
  Expected<cudnnHandle_t> handleFor(CUstream stream);
  /// `planConvolution`, by one thread at a time.
  Expected<CudnnPlan> plan(const GpuConvolution &convolution,
                           const CudnnAlignments &alignments,
                           std::string &refusal);

  /// Memory that a convolution may use while it is executed: enough for the
  /// copies of an image in another layout that some engines make.
  static constexpr uint64_t mostWorkspaceBytes = uint64_t(256) << 20;

  const CudnnApi &api;

private:
  CudaConvolutionLibrary(const CudnnApi &api,
                         std::shared_ptr<CudaContext> context)
      : api(api), context(std::move(context)) {}

  std::shared_ptr<CudaContext> context;
  std::mutex mutex;
  /// A handle has one stream, since another one would wait for it. That of the
  /// default stream is for plans.
  std::map<CUstream, cudnnHandle_t> handles;
  std::mutex planning;
};

/// A convolution that cuDNN may compute.
class CudaConvolution final : public CudaLibraryPhase {
public:
  CudaConvolution(std::shared_ptr<CudaConvolutionLibrary> library,
                  const GpuConvolution &convolution);

  Expected<std::optional<uint64_t>>
  prepare(std::span<std::byte *const> buffers) override;
  Expected<bool> enqueue(std::span<std::byte *const> buffers,
                         CUdeviceptr workspace, CUstream stream) override;
  std::optional<std::string> refusal() override;

private:
  std::array<std::byte *, 3>
  addressesOf(std::span<std::byte *const> buffers) const;
  CudnnAlignments alignmentsOf(std::span<std::byte *const> buffers) const;

  const std::shared_ptr<CudaConvolutionLibrary> library;
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

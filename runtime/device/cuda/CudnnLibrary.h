//===- CudnnLibrary.h - cuDNN on a GPU --------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNLIBRARY_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNLIBRARY_H

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudnnPlan.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace lockstep::runtime {

/// cuDNN on a GPU, for all that it computes there. Thread-safe.
class CudnnLibrary {
public:
  /// Errors: those of `CudnnApi::load`, and of the library.
  static Expected<std::shared_ptr<CudnnLibrary>>
  create(std::shared_ptr<CudaContext> context);
  ~CudnnLibrary();
  CudnnLibrary(const CudnnLibrary &) = delete;
  CudnnLibrary &operator=(const CudnnLibrary &) = delete;

  /// The handle for a stream, on which one thread at a time enqueues; the
  /// context is current. Error: of the library.
  Expected<cudnnHandle_t> handleFor(CUstream stream);
  /// What `planOn` returns for this GPU, which is called by one thread at a
  /// time. Error: of the library.
  Expected<CudnnPlan>
  plan(const std::function<Expected<CudnnPlan>(const CudnnTarget &)> &planOn);

  /// Memory that a plan may use while it is executed: enough for the copies of
  /// an image in another layout that some engines of convolutions make.
  static constexpr uint64_t mostWorkspaceBytes = uint64_t(256) << 20;

  const CudnnApi &api;

private:
  CudnnLibrary(const CudnnApi &api, std::shared_ptr<CudaContext> context)
      : api(api), context(std::move(context)) {}

  std::shared_ptr<CudaContext> context;
  std::mutex mutex;
  /// A handle has one stream, since another one would wait for it. That of the
  /// default stream is for plans.
  std::map<CUstream, cudnnHandle_t> handles;
  std::mutex planning;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNLIBRARY_H

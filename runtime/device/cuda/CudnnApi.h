//===- CudnnApi.h - NVIDIA's cuDNN, for parts of kernels --------*- C++ -*-===//
//
// The library is loaded with the first artifact that needs it.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNAPI_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNAPI_H

#include "runtime/device/cuda/Cudnn.h"
#include "runtime/support/Status.h"

#include <string_view>

namespace lockstep::runtime {

#define LOCKSTEP_CUDNN_FUNCTIONS(X)                                            \
  X(cudnnGetVersion)                                                           \
  X(cudnnGetErrorString)                                                       \
  X(cudnnGetLastErrorString)                                                   \
  X(cudnnCreate)                                                               \
  X(cudnnDestroy)                                                              \
  X(cudnnSetStream)                                                            \
  X(cudnnBackendCreateDescriptor)                                              \
  X(cudnnBackendDestroyDescriptor)                                             \
  X(cudnnBackendSetAttribute)                                                  \
  X(cudnnBackendGetAttribute)                                                  \
  X(cudnnBackendFinalize)                                                      \
  X(cudnnBackendExecute)

/// The first version with this interface.
inline constexpr size_t leastCudnnVersion = 90000;

/// Never unloaded.
struct CudnnApi {
  /// The library of this machine. Errors: there is none, or it is too old.
  static Expected<const CudnnApi *>
  load(size_t leastVersion = leastCudnnVersion);

  /// The error of a call: "cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM", and
  /// what the library says about it.
  Status error(std::string_view call, cudnnStatus_t status) const;

#define LOCKSTEP_CUDNN_POINTER(name) decltype(&::name) name = nullptr;
  LOCKSTEP_CUDNN_FUNCTIONS(LOCKSTEP_CUDNN_POINTER)
#undef LOCKSTEP_CUDNN_POINTER
};

/// Whether the library has no code for what it was asked.
inline bool isRefusal(cudnnStatus_t status) {
  return status >= CUDNN_STATUS_NOT_SUPPORTED &&
         status < CUDNN_STATUS_INTERNAL_ERROR;
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNAPI_H

//===- DriverApi.h - the CUDA driver's library ------------------*- C++ -*-===//
//
// The library is loaded when a device is opened, so that programs and plugins
// start on machines without a driver. Functions have the types that cuda.h
// declares, and the versions that its macros choose: `api.cuMemAlloc` is
// `cuMemAlloc_v2`.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_DRIVERAPI_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_DRIVERAPI_H

#include "runtime/support/Status.h"

#include <string>

#include <cuda.h>

namespace lockstep::runtime {

#define LOCKSTEP_CUDA_FUNCTIONS(X)                                             \
  X(cuInit)                                                                    \
  X(cuDriverGetVersion)                                                        \
  X(cuGetErrorName)                                                            \
  X(cuGetErrorString)                                                          \
  X(cuDeviceGetCount)                                                          \
  X(cuDeviceGet)                                                               \
  X(cuDeviceGetName)                                                           \
  X(cuDeviceGetAttribute)                                                      \
  X(cuDevicePrimaryCtxRetain)                                                  \
  X(cuDevicePrimaryCtxRelease)                                                 \
  X(cuCtxSetCurrent)                                                           \
  X(cuCtxGetCurrent)                                                           \
  X(cuCtxSynchronize)                                                          \
  X(cuCtxGetStreamPriorityRange)                                               \
  X(cuModuleLoadDataEx)                                                        \
  X(cuModuleUnload)                                                            \
  X(cuModuleGetFunction)                                                       \
  X(cuModuleGetGlobal)                                                         \
  X(cuFuncGetAttribute)                                                        \
  X(cuMemGetInfo)                                                              \
  X(cuMemAlloc)                                                                \
  X(cuMemFree)                                                                 \
  X(cuMemGetAllocationGranularity)                                             \
  X(cuMemCreate)                                                               \
  X(cuMemRelease)                                                              \
  X(cuMemAddressReserve)                                                       \
  X(cuMemAddressFree)                                                          \
  X(cuMemMap)                                                                  \
  X(cuMemUnmap)                                                                \
  X(cuMemSetAccess)                                                            \
  X(cuMemHostAlloc)                                                            \
  X(cuMemFreeHost)                                                             \
  X(cuPointerGetAttribute)                                                     \
  X(cuMemcpyDtoH)                                                              \
  X(cuMemcpyHtoDAsync)                                                         \
  X(cuMemcpyDtoHAsync)                                                         \
  X(cuMemcpyDtoDAsync)                                                         \
  X(cuMemcpy2DAsync)                                                           \
  X(cuMemsetD8Async)                                                           \
  X(cuMemsetD32Async)                                                          \
  X(cuStreamCreateWithPriority)                                                \
  X(cuStreamDestroy)                                                           \
  X(cuStreamSynchronize)                                                       \
  X(cuStreamQuery)                                                             \
  X(cuStreamWaitEvent)                                                         \
  X(cuStreamBeginCapture)                                                      \
  X(cuStreamEndCapture)                                                        \
  X(cuGraphInstantiate)                                                        \
  X(cuGraphDestroy)                                                            \
  X(cuGraphExecDestroy)                                                        \
  X(cuGraphLaunch)                                                             \
  X(cuEventCreate)                                                             \
  X(cuEventDestroy)                                                            \
  X(cuEventRecord)                                                             \
  X(cuEventQuery)                                                              \
  X(cuLaunchHostFunc)                                                          \
  X(cuLaunchKernel)

/// The driver, ready for use. Never unloaded.
struct DriverApi {
  /// The driver of this machine. Errors: there is none, it is too old, or it
  /// has no GPU that it could use.
  static Expected<const DriverApi *> load();

  /// "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)"
  std::string text(CUresult result) const;

#define LOCKSTEP_CUDA_POINTER(name) decltype(&::name) name = nullptr;
  LOCKSTEP_CUDA_FUNCTIONS(LOCKSTEP_CUDA_POINTER)
#undef LOCKSTEP_CUDA_POINTER

  /// The macro of cuda.h may mean a version that older drivers lack; this one
  /// has the same type.
  CUresult(CUDAAPI *elapsedTime)(float *milliseconds, CUevent begin,
                                 CUevent end) = nullptr;
};

/// Earlier drivers are refused, as cuDriverGetVersion counts: 12.4.
inline constexpr int leastDriverVersion = 12040;

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_DRIVERAPI_H

//===- CublasLtApi.h - NVIDIA's library for products ------------*- C++ -*-===//
//
// The library is loaded with the first artifact that needs it.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUBLASLTAPI_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUBLASLTAPI_H

#include "runtime/device/cuda/CublasLt.h"
#include "runtime/support/Status.h"

#include <string_view>

namespace lockstep::runtime {

#define LOCKSTEP_CUBLASLT_FUNCTIONS(X)                                         \
  X(cublasLtGetVersion)                                                        \
  X(cublasLtGetStatusName)                                                     \
  X(cublasLtCreate)                                                            \
  X(cublasLtDestroy)                                                           \
  X(cublasLtMatmulDescCreate)                                                  \
  X(cublasLtMatmulDescDestroy)                                                 \
  X(cublasLtMatmulDescSetAttribute)                                            \
  X(cublasLtMatrixLayoutCreate)                                                \
  X(cublasLtMatrixLayoutDestroy)                                               \
  X(cublasLtMatrixLayoutSetAttribute)                                          \
  X(cublasLtMatmulPreferenceCreate)                                            \
  X(cublasLtMatmulPreferenceDestroy)                                           \
  X(cublasLtMatmulPreferenceSetAttribute)                                      \
  X(cublasLtMatmulAlgoGetHeuristic)                                            \
  X(cublasLtMatmul)

/// Never unloaded.
struct CublasLtApi {
  /// The library of this machine: for CUDA 13 if the driver is, and there is
  /// one, else for CUDA 12. `driverVersion` as cuDriverGetVersion counts; that
  /// of the first call decides. Errors: there is none, or it is too old.
  static Expected<const CublasLtApi *> load(int driverVersion);

  /// The error of a call: "cublasLtMatmul: CUBLAS_STATUS_INVALID_VALUE".
  Status error(std::string_view call, cublasStatus_t status) const;

#define LOCKSTEP_CUBLASLT_POINTER(name) decltype(&::name) name = nullptr;
  LOCKSTEP_CUBLASLT_FUNCTIONS(LOCKSTEP_CUBLASLT_POINTER)
#undef LOCKSTEP_CUBLASLT_POINTER
};

/// Earlier libraries are refused, as cublasLtGetVersion counts: 12.4, as of
/// drivers (leastDriverVersion).
inline constexpr size_t leastCublasLtVersion = 120400;

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUBLASLTAPI_H

//===- NcclApi.h - NVIDIA's library for collectives -------------*- C++ -*-===//
//
// The library is loaded when the transport is opened. Functions have the types
// that nccl.h declares.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_NCCL_NCCLAPI_H
#define LOCKSTEP_RUNTIME_TRANSPORT_NCCL_NCCLAPI_H

#include "runtime/support/Status.h"

#include <string_view>

#include <nccl.h>

namespace lockstep::runtime {

#define LOCKSTEP_NCCL_FUNCTIONS(X)                                             \
  X(ncclGetVersion)                                                            \
  X(ncclGetErrorString)                                                        \
  X(ncclGetLastError)                                                          \
  X(ncclGetUniqueId)                                                           \
  X(ncclCommInitRankConfig)                                                    \
  X(ncclCommGetAsyncError)                                                     \
  X(ncclCommAbort)                                                             \
  X(ncclCommRegister)                                                          \
  X(ncclCommDeregister)                                                        \
  X(ncclGroupStart)                                                            \
  X(ncclGroupEnd)                                                              \
  X(ncclSend)                                                                  \
  X(ncclRecv)                                                                  \
  X(ncclAllReduce)                                                             \
  X(ncclReduceScatter)

struct NcclApi {
  /// The library of this machine. Errors: there is none, or it is too old.
  static Expected<const NcclApi *> load();

  /// The error of a call: "ncclSend: unhandled cuda error (...)".
  Status error(std::string_view call, ncclResult_t result) const;

#define LOCKSTEP_NCCL_POINTER(name) decltype(&::name) name = nullptr;
  LOCKSTEP_NCCL_FUNCTIONS(LOCKSTEP_NCCL_POINTER)
#undef LOCKSTEP_NCCL_POINTER
};

/// Earlier libraries are refused, as ncclGetVersion counts. From 2.22.3 on, an
/// abort of several communicators in one group waits for none of them before
/// all are aborted. From this one on, transfers are from and to memory that is
/// registered; earlier ones access that of another GPU of the process in any
/// case, which has to be mapped for it.
inline constexpr int leastNcclVersion = NCCL_VERSION(2, 23, 4);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_NCCL_NCCLAPI_H

//===- NcclApi.cpp - NVIDIA's library for collectives ---------------------===//

#include "runtime/transport/nccl/NcclApi.h"

#include "runtime/support/SharedLibrary.h"

#include <string>

namespace lockstep::runtime {

static Status findFunctions(void *library, NcclApi &api) {
  FunctionFinder finder(library,
                        fmt::format("expected NCCL {} or newer, found a "
                                    "libnccl.so.2",
                                    dottedVersion(leastNcclVersion)));
#define LOCKSTEP_NCCL_FIND(name) finder.find(#name, api.name);
  LOCKSTEP_NCCL_FUNCTIONS(LOCKSTEP_NCCL_FIND)
#undef LOCKSTEP_NCCL_FIND
  return finder.status();
}

static Expected<const NcclApi *> loadLibrary() {
  void *library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return unsupported(
        fmt::format("expected NVIDIA's NCCL {} or newer, found none: {}",
                    dottedVersion(leastNcclVersion), ::dlerror()));
  static NcclApi api;
  LOCKSTEP_RETURN_IF_ERROR(findFunctions(library, api));
  int version = 0;
  if (ncclResult_t result = api.ncclGetVersion(&version); result != ncclSuccess)
    return api.error("ncclGetVersion", result);
  if (version < leastNcclVersion)
    return unsupported(fmt::format("expected NVIDIA's NCCL {} or newer, found "
                                   "NCCL {}",
                                   dottedVersion(leastNcclVersion),
                                   dottedVersion(version)));
  return &api;
}

Expected<const NcclApi *> NcclApi::load() {
  static const Expected<const NcclApi *> api = loadLibrary();
  return api;
}

Status NcclApi::error(std::string_view call, ncclResult_t result) const {
  std::string text = ncclGetErrorString(result);
  if (const char *last = ncclGetLastError(nullptr); last && *last)
    text += fmt::format(" ({})", last);
  return systemError(fmt::format("{}: {}", call, text));
}

} // namespace lockstep::runtime

//===- CublasLtApi.cpp - NVIDIA's library for products --------------------===//

#include "runtime/device/cuda/CublasLtApi.h"

#include "runtime/support/SharedLibrary.h"

namespace lockstep::runtime {

static Status findFunctions(void *library, CublasLtApi &api) {
  FunctionFinder finder(library,
                        fmt::format("expected NVIDIA's cuBLASLt {} or newer, "
                                    "found one",
                                    dottedVersion(leastCublasLtVersion)));
#define LOCKSTEP_CUBLASLT_FIND(name) finder.find(#name, api.name);
  LOCKSTEP_CUBLASLT_FUNCTIONS(LOCKSTEP_CUBLASLT_FIND)
#undef LOCKSTEP_CUBLASLT_FIND
  return finder.status();
}

static Expected<const CublasLtApi *> loadLibrary(int driverVersion) {
  void *library = nullptr;
  std::string missing;
  for (int version : {13, 12}) {
    // A driver does not execute what was compiled for a later CUDA.
    if (library || driverVersion / 1000 < version)
      continue;
    std::string name = fmt::format("libcublasLt.so.{}", version);
    library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      missing += (missing.empty() ? "" : "; ") + std::string(::dlerror());
  }
  if (!library)
    return unsupported(
        fmt::format("expected NVIDIA's cuBLASLt {} or newer, found none: {}",
                    dottedVersion(leastCublasLtVersion), missing));
  static CublasLtApi api;
  // An old library may lack some functions: its version says more.
  api.cublasLtGetVersion = reinterpret_cast<decltype(api.cublasLtGetVersion)>(
      ::dlsym(library, "cublasLtGetVersion"));
  if (size_t version =
          api.cublasLtGetVersion ? api.cublasLtGetVersion() : SIZE_MAX;
      version < leastCublasLtVersion)
    return unsupported(fmt::format(
        "expected NVIDIA's cuBLASLt {} or newer, found {}",
        dottedVersion(leastCublasLtVersion), dottedVersion(version)));
  LOCKSTEP_RETURN_IF_ERROR(findFunctions(library, api));
  return &api;
}

Expected<const CublasLtApi *> CublasLtApi::load(int driverVersion) {
  static const Expected<const CublasLtApi *> api = loadLibrary(driverVersion);
  return api;
}

Status CublasLtApi::error(std::string_view call, cublasStatus_t status) const {
  return systemError(
      fmt::format("{}: {}", call, cublasLtGetStatusName(status)));
}

} // namespace lockstep::runtime

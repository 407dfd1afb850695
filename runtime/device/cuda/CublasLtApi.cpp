//===- CublasLtApi.cpp - NVIDIA's library for products --------------------===//

#include "runtime/device/cuda/CublasLtApi.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace lockstep::runtime {

static std::string versionText(size_t version) {
  constexpr size_t majorUnit = 10000, minorUnit = 100;
  return fmt::format("{}.{}.{}", version / majorUnit,
                     version % majorUnit / minorUnit, version % minorUnit);
}

static Status findFunctions(void *library, CublasLtApi &api) {
#define LOCKSTEP_CUBLASLT_FIND(name)                                           \
  api.name = reinterpret_cast<decltype(api.name)>(::dlsym(library, #name));    \
  if (!api.name)                                                               \
    return unsupported(                                                        \
        fmt::format("expected NVIDIA's cuBLASLt {} or newer, found one "       \
                    "without '{}'",                                            \
                    versionText(leastCublasLtVersion), #name));
  LOCKSTEP_CUBLASLT_FUNCTIONS(LOCKSTEP_CUBLASLT_FIND)
#undef LOCKSTEP_CUBLASLT_FIND
  return Status::success();
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
                    versionText(leastCublasLtVersion), missing));
  static CublasLtApi api;
  // An old library may lack some functions: its version says more.
  api.cublasLtGetVersion = reinterpret_cast<decltype(api.cublasLtGetVersion)>(
      ::dlsym(library, "cublasLtGetVersion"));
  if (size_t version =
          api.cublasLtGetVersion ? api.cublasLtGetVersion() : SIZE_MAX;
      version < leastCublasLtVersion)
    return unsupported(
        fmt::format("expected NVIDIA's cuBLASLt {} or newer, found {}",
                    versionText(leastCublasLtVersion), versionText(version)));
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

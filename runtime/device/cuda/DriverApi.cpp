//===- DriverApi.cpp - the CUDA driver's library --------------------------===//

#include "runtime/device/cuda/DriverApi.h"

#include "runtime/support/SharedLibrary.h"

namespace lockstep::runtime {

static std::string versionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

static Status findFunctions(void *library, DriverApi &api) {
  FunctionFinder finder(library,
                        fmt::format("expected a driver for CUDA {} or newer, "
                                    "found a libcuda.so.1",
                                    versionText(leastDriverVersion)));
  // cuda.h has macros for the names of versions.
#define LOCKSTEP_CUDA_TEXT(name) #name
#define LOCKSTEP_CUDA_FIND(name)                                               \
  finder.find(LOCKSTEP_CUDA_TEXT(name), api.name);
  LOCKSTEP_CUDA_FUNCTIONS(LOCKSTEP_CUDA_FIND)
#undef LOCKSTEP_CUDA_FIND
#undef LOCKSTEP_CUDA_TEXT
  finder.find("cuEventElapsedTime", api.elapsedTime);
  return finder.status();
}

static Expected<const DriverApi *> loadDriver() {
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return unsupported(
        fmt::format("expected NVIDIA's driver for CUDA {} or newer, found "
                    "none: {}",
                    versionText(leastDriverVersion), ::dlerror()));
  static DriverApi api;
  // An old driver may lack some functions: its version says more.
  api.cuDriverGetVersion = reinterpret_cast<decltype(api.cuDriverGetVersion)>(
      ::dlsym(library, "cuDriverGetVersion"));
  int version = 0;
  if (api.cuDriverGetVersion &&
      api.cuDriverGetVersion(&version) == CUDA_SUCCESS &&
      version < leastDriverVersion)
    return unsupported(
        fmt::format("expected NVIDIA's driver for CUDA {} or newer, found one "
                    "for CUDA {}",
                    versionText(leastDriverVersion), versionText(version)));
  LOCKSTEP_RETURN_IF_ERROR(findFunctions(library, api));
  CUresult result = api.cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    return unsupported("expected an NVIDIA GPU, found none: the driver sees "
                       "no device (is CUDA_VISIBLE_DEVICES set?)");
  if (result != CUDA_SUCCESS)
    return unsupported(
        fmt::format("the CUDA driver cannot be used: {}", api.text(result)));
  return &api;
}

Expected<const DriverApi *> DriverApi::load() {
  static const Expected<const DriverApi *> api = loadDriver();
  return api;
}

std::string DriverApi::text(CUresult result) const {
  const char *name = nullptr, *description = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return fmt::format("CUDA error {}", int(result));
  if (cuGetErrorString(result, &description) != CUDA_SUCCESS || !description)
    return name;
  return fmt::format("{} ({})", name, description);
}

} // namespace lockstep::runtime

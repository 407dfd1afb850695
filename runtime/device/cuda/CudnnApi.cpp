//===- CudnnApi.cpp - NVIDIA's cuDNN, for parts of kernels ----------------===//

#include "runtime/device/cuda/CudnnApi.h"

#include "runtime/support/SharedLibrary.h"

#include <array>

namespace lockstep::runtime {

/// The library of this machine; else what there is instead of it: "found none".
static Status loadLibrary(CudnnApi &api) {
  void *library = ::dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return unsupported(fmt::format("found none: {}", ::dlerror()));
  FunctionFinder finder(library, "found one");
#define LOCKSTEP_CUDNN_FIND(name) finder.find(#name, api.name);
  LOCKSTEP_CUDNN_FUNCTIONS(LOCKSTEP_CUDNN_FIND)
#undef LOCKSTEP_CUDNN_FIND
  return finder.status();
}

Expected<const CudnnApi *> CudnnApi::load(size_t leastVersion) {
  static CudnnApi api;
  static const Status loaded = loadLibrary(api);
  Status status = loaded;
  if (status.ok())
    if (size_t version = api.cudnnGetVersion(); version < leastVersion)
      status = unsupported(fmt::format("found {}", dottedVersion(version)));
  if (status.ok())
    return &api;
  return unsupported(fmt::format("expected NVIDIA's cuDNN {} or newer, {}",
                                 dottedVersion(leastVersion),
                                 status.message()));
}

Status CudnnApi::error(std::string_view call, cudnnStatus_t status) const {
  std::array<char, 1024> reason{};
  cudnnGetLastErrorString(reason.data(), reason.size());
  std::string text = fmt::format("{}: {}", call, cudnnGetErrorString(status));
  if (reason[0])
    text += fmt::format(" ({})", reason.data());
  return systemError(text);
}

} // namespace lockstep::runtime

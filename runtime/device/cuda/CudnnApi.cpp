//===- CudnnApi.cpp - NVIDIA's library for convolutions -------------------===//

#include "runtime/device/cuda/CudnnApi.h"

#include "runtime/support/SharedLibrary.h"

#include <array>

namespace lockstep::runtime {

static Expected<const CudnnApi *> loadLibrary() {
  void *library = ::dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return unsupported(
        fmt::format("expected NVIDIA's cuDNN {} or newer, found none: {}",
                    dottedVersion(leastCudnnVersion), ::dlerror()));
  static CudnnApi api;
  FunctionFinder finder(
      library, fmt::format("expected NVIDIA's cuDNN {} or newer, found one",
                           dottedVersion(leastCudnnVersion)));
#define LOCKSTEP_CUDNN_FIND(name) finder.find(#name, api.name);
  LOCKSTEP_CUDNN_FUNCTIONS(LOCKSTEP_CUDNN_FIND)
#undef LOCKSTEP_CUDNN_FIND
  LOCKSTEP_RETURN_IF_ERROR(finder.status());
  if (size_t version = api.cudnnGetVersion(); version < leastCudnnVersion)
    return unsupported(
        fmt::format("expected NVIDIA's cuDNN {} or newer, found {}",
                    dottedVersion(leastCudnnVersion), dottedVersion(version)));
  return &api;
}

Expected<const CudnnApi *> CudnnApi::load() {
  static const Expected<const CudnnApi *> api = loadLibrary();
  return api;
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

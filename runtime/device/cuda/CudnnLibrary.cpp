//===- CudnnLibrary.cpp - cuDNN on a GPU ----------------------------------===//

#include "runtime/device/cuda/CudnnLibrary.h"

namespace lockstep::runtime {

Expected<std::shared_ptr<CudnnLibrary>>
CudnnLibrary::create(std::shared_ptr<CudaContext> context) {
  Expected<const CudnnApi *> api = CudnnApi::load();
  if (!api)
    return api.status();
  std::shared_ptr<CudnnLibrary> library(
      new CudnnLibrary(**api, std::move(context)));
  library->context->enter();
  // For plans, and to say what is missing before the first step.
  Expected<cudnnHandle_t> handle = library->handleFor(nullptr);
  if (!handle)
    return handle.status();
  return library;
}

CudnnLibrary::~CudnnLibrary() {
  context->enter();
  for (const auto &[stream, handle] : handles)
    api.cudnnDestroy(handle);
}

Expected<cudnnHandle_t> CudnnLibrary::handleFor(CUstream stream) {
  std::lock_guard<std::mutex> lock(mutex);
  if (auto known = handles.find(stream); known != handles.end())
    return known->second;
  cudnnHandle_t handle = nullptr;
  cudnnStatus_t status = api.cudnnCreate(&handle);
  if (status != CUDNN_STATUS_SUCCESS)
    return api.error("cudnnCreate", status);
  status = api.cudnnSetStream(handle, stream);
  if (status != CUDNN_STATUS_SUCCESS) {
    Status error = api.error("cudnnSetStream", status);
    api.cudnnDestroy(handle);
    return error;
  }
  handles[stream] = handle;
  return handle;
}

Expected<CudnnPlan> CudnnLibrary::plan(
    const std::function<Expected<CudnnPlan>(const CudnnTarget &)> &planOn) {
  Expected<cudnnHandle_t> handle = handleFor(nullptr);
  if (!handle)
    return handle.status();
  std::lock_guard<std::mutex> lock(planning);
  return planOn({*handle, nullptr});
}

} // namespace lockstep::runtime

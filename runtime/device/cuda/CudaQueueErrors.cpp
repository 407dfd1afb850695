//===- CudaQueueErrors.cpp - errors of a GPU's commands -------------------===//

#include "runtime/device/cuda/CudaQueue.h"

#include <fmt/format.h>

namespace lockstep::runtime {

/// Whether the call that returned the error has caused it. Others are reported
/// by the first call after the command that failed.
static bool isOfCall(CUresult result) {
  switch (result) {
  case CUDA_ERROR_INVALID_VALUE:
  case CUDA_ERROR_OUT_OF_MEMORY:
  case CUDA_ERROR_INVALID_HANDLE:
  case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
  case CUDA_ERROR_NOT_SUPPORTED:
  case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    return true;
  default:
    return false;
  }
}

void CudaQueue::noteLaunch(std::string_view kernel) {
  uint64_t command = enqueuedCount.load(std::memory_order_relaxed);
  if (recording) {
    recording->launches.push_back(
        {command - recording->before, std::string(kernel)});
    return;
  }
  CudaLaunch &note = launches[command % launchesKept];
  note.command = command;
  note.kernel = kernel;
}

std::string CudaQueue::firstLaunchAfter(uint64_t executed) const {
  const CudaLaunch *first = nullptr;
  auto findIn = [&](std::span<const CudaLaunch> some, uint64_t from) {
    for (const CudaLaunch &launch : some)
      if (from + launch.command > executed &&
          (!first || launch.command < first->command))
        first = &launch;
  };
  if (executing)
    findIn(executing->launches, executedFrom.load(std::memory_order_relaxed));
  if (!first)
    findIn(launches, 0);
  if (!first)
    return "";
  return first->kernel.empty()
             ? ", next is a reduction or a search"
             : fmt::format(", next is kernel '{}'", first->kernel);
}

void CudaQueue::fail(CUresult result, const std::string &what) {
  if (isOfCall(result))
    return fail(systemError(fmt::format("{} failed on {}: {}", what,
                                        context->name(), api.text(result))));
  uint64_t executed = progress();
  fail(systemError(fmt::format(
      "{} failed: {}, found at {}; at least {} of {} commands have been "
      "executed{}",
      context->name(), api.text(result), what, executed, enqueued(),
      firstLaunchAfter(executed))));
}

void CudaQueue::fail(const Status &status) {
  std::lock_guard<std::mutex> lock(errorMutex);
  if (error.ok())
    error = status;
  isFailed.store(true, std::memory_order_release);
}

Status CudaQueue::status() const {
  if (!isFailed.load(std::memory_order_acquire))
    return Status::success();
  std::lock_guard<std::mutex> lock(errorMutex);
  return error;
}

Status CudaQueue::finish() {
  context->enter();
  CUresult result = api.cuStreamSynchronize(stream.stream);
  if (result != CUDA_SUCCESS) {
    std::lock_guard<std::mutex> lock(mutex);
    fail(result, "a wait for the end");
  }
  return status();
}

/// Notes the error of a library. Where the GPU has failed before, the library
/// says no more than that, and the driver knows the cause, which is returned.
CUresult CudaQueue::failInLibrary(const Status &status) {
  CUresult state = recording ? CUDA_SUCCESS : api.cuStreamQuery(stream.stream);
  if (state != CUDA_SUCCESS && state != CUDA_ERROR_NOT_READY)
    return state;
  fail(status);
  return CUDA_SUCCESS;
}

} // namespace lockstep::runtime

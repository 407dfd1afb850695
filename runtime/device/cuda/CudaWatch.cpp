//===- CudaWatch.cpp - notices that a GPU has failed ----------------------===//

#include "runtime/device/cuda/CudaWatch.h"

#include "runtime/device/cuda/CudaQueue.h"
#include "runtime/support/Threads.h"

#include <chrono>

namespace lockstep::runtime {

Expected<std::shared_ptr<CudaWatch>> CudaWatch::start() {
  auto watch = std::make_shared<CudaWatch>();
  LOCKSTEP_RETURN_IF_ERROR(startThread([self = watch.get()] {
                             self->work();
                           }).moveTo(watch->thread));
  return watch;
}

CudaWatch::~CudaWatch() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  ending.notify_all();
  if (thread.joinable())
    thread.join();
}

void CudaWatch::add(CudaQueue *queue) {
  std::lock_guard<std::mutex> lock(mutex);
  queues.push_back(queue);
}

void CudaWatch::remove(CudaQueue *queue) {
  std::lock_guard<std::mutex> lock(mutex);
  std::erase(queues, queue);
}

void CudaWatch::work() {
  constexpr std::chrono::milliseconds interval(100);
  std::unique_lock<std::mutex> lock(mutex);
  while (!ending.wait_for(lock, interval, [&] { return isEnding; })) {
    // All queues note a failure, and what they were to execute, before those
    // who wait for one of them see it.
    std::vector<CudaQueue *> failed;
    for (CudaQueue *queue : queues)
      if (queue->findFailure())
        failed.push_back(queue);
    for (CudaQueue *queue : failed)
      queue->abandon();
  }
}

bool CudaQueue::findFailure() {
  // A queue that executes a part of a graph has no callback.
  if (callbacks->areAbandoned() ||
      (callbacks->isEmpty() && progress() == enqueued()))
    return false;
  context->enter();
  // Who holds the mutex calls the driver, which reports a failure.
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  // A stream must not be queried while the driver records its commands.
  if (!lock || recording)
    return false;
  CUresult result = api.cuStreamQuery(stream.stream);
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY)
    return false;
  fail(result, "a query of the stream");
  return true;
}

/// Completes all records, after the commands before them where the stream still
/// executes any.
void CudaQueue::abandon() {
  api.cuStreamSynchronize(stream.stream);
  callbacks->abandon();
}

} // namespace lockstep::runtime

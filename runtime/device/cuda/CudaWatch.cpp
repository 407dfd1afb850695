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

} // namespace lockstep::runtime

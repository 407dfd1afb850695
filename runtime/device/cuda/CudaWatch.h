//===- CudaWatch.h - notices that a GPU has failed --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAWATCH_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAWATCH_H

#include "runtime/support/Status.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::runtime {

class CudaQueue;

/// A thread that asks the driver ten times a second whether queues with events
/// that somebody waits for still work: the driver does not call back after a
/// failure.
class CudaWatch {
public:
  /// Error: no more threads.
  static Expected<std::shared_ptr<CudaWatch>> start();
  ~CudaWatch();

  void add(CudaQueue *queue);
  /// Afterwards, the thread does not use the queue.
  void remove(CudaQueue *queue);

private:
  void work();

  std::mutex mutex;
  std::condition_variable ending;
  bool isEnding = false;
  std::vector<CudaQueue *> queues;
  std::thread thread;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAWATCH_H

//===- CudaEvent.h - events, and who is called on completion ----*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAEVENT_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAEVENT_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaContext.h"

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace lockstep::runtime {

/// An event of the driver, which queues wait for. One with a callback also
/// counts records: its state must change before the callback, not when the
/// driver notices.
class CudaEvent final : public Event {
public:
  /// Shared with the records that are not complete.
  struct State {
    State(std::shared_ptr<CudaContext> context,
          std::function<void()> onComplete);
    ~State();
    /// The record with this number is complete.
    void complete(uint64_t number);

    const std::shared_ptr<CudaContext> context;
    /// Null if the driver could not create it: `creation` says why.
    CUevent event = nullptr;
    CUresult creation = CUDA_SUCCESS;
    const std::function<void()> onComplete;
    std::atomic<uint64_t> recorded{0}, completed{0};
  };

  CudaEvent(std::shared_ptr<CudaContext> context,
            std::function<void()> onComplete)
      : state(std::make_shared<State>(std::move(context),
                                      std::move(onComplete))) {}
  bool isComplete() const override;

  const std::shared_ptr<State> state;
};

/// An event with the time of its record.
class CudaTimestamp final : public Timestamp {
public:
  /// Error: the driver cannot create an event.
  static Expected<std::unique_ptr<Timestamp>>
  create(std::shared_ptr<CudaContext> context);
  ~CudaTimestamp() override;
  Expected<double> secondsSince(const Timestamp &earlier) const override;

  const std::shared_ptr<CudaContext> context;
  const CUevent event;

private:
  CudaTimestamp(std::shared_ptr<CudaContext> context, CUevent event)
      : context(std::move(context)), event(event) {}
};

/// The records of a queue whose events have callbacks, in its order. The stream
/// calls `callNext` at each of them. But the driver calls nothing once the GPU
/// has failed: then all are complete, because nothing more will happen.
class CudaCallbacks {
public:
  /// False if the queue has been abandoned.
  bool add(std::shared_ptr<CudaEvent::State> event, uint64_t number);
  /// For `cuLaunchHostFunc`; `callbacks` is an object of this class.
  static void CUDA_CB callNext(void *callbacks);
  /// Completes all records; the stream's calls have no effect any more.
  void abandon();
  bool isEmpty() const;
  bool areAbandoned() const;

private:
  struct Record {
    std::shared_ptr<CudaEvent::State> event;
    uint64_t number;
  };
  mutable std::mutex mutex;
  std::deque<Record> records;
  bool isAbandoned = false;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAEVENT_H

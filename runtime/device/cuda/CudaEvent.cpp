//===- CudaEvent.cpp - events, and who is called on completion ------------===//

#include "runtime/device/cuda/CudaEvent.h"

#include <fmt/format.h>

namespace lockstep::runtime {

CudaEvent::State::State(std::shared_ptr<CudaContext> given,
                        std::function<void()> onComplete)
    : context(std::move(given)), onComplete(std::move(onComplete)) {
  creation = context->takeEvent(event);
}

CudaEvent::State::~State() {
  // Possibly at the end of a callback, where no call of the driver is allowed.
  if (event)
    context->giveBack(event);
}

void CudaEvent::State::complete(uint64_t number) {
  // Several queues may have recorded the event.
  uint64_t known = completed.load(std::memory_order_relaxed);
  while (known < number && !completed.compare_exchange_weak(
                               known, number, std::memory_order_acq_rel))
    continue;
  if (onComplete)
    onComplete();
}

bool CudaEvent::isComplete() const {
  if (state->onComplete)
    return state->completed.load(std::memory_order_acquire) >=
           state->recorded.load(std::memory_order_acquire);
  if (state->recorded.load(std::memory_order_acquire) == 0 || !state->event)
    return true;
  state->context->enter();
  // After an error, nothing more will happen; the queue has its status.
  return state->context->api.cuEventQuery(state->event) != CUDA_ERROR_NOT_READY;
}

Expected<std::unique_ptr<Timestamp>>
CudaTimestamp::create(std::shared_ptr<CudaContext> context) {
  context->enter();
  CUevent event = nullptr;
  CUresult result = context->api.cuEventCreate(&event, CU_EVENT_DEFAULT);
  if (result != CUDA_SUCCESS)
    return systemError(fmt::format("cannot create an event with a time: {}",
                                   context->api.text(result)));
  return std::unique_ptr<Timestamp>(
      new CudaTimestamp(std::move(context), event));
}

CudaTimestamp::~CudaTimestamp() {
  context->enter();
  context->api.cuEventDestroy(event);
}

Expected<double> CudaTimestamp::secondsSince(const Timestamp &earlier) const {
  context->enter();
  float milliseconds = 0;
  CUresult result = context->api.elapsedTime(
      &milliseconds, static_cast<const CudaTimestamp &>(earlier).event, event);
  if (result != CUDA_SUCCESS)
    return systemError(fmt::format("the time of an event is not known: {}",
                                   context->api.text(result)));
  return double(milliseconds) * 1e-3;
}

bool CudaCallbacks::add(std::shared_ptr<CudaEvent::State> event,
                        uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  if (isAbandoned)
    return false;
  records.push_back({std::move(event), number});
  return true;
}

void CUDA_CB CudaCallbacks::callNext(void *callbacks) {
  auto &self = *static_cast<CudaCallbacks *>(callbacks);
  std::unique_lock<std::mutex> lock(self.mutex);
  if (self.isAbandoned)
    return;
  Record first = std::move(self.records.front());
  self.records.pop_front();
  lock.unlock();
  first.event->complete(first.number);
}

void CudaCallbacks::abandon() {
  std::deque<Record> rest;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isAbandoned = true;
    rest.swap(records);
  }
  for (const Record &record : rest)
    record.event->complete(record.number);
}

bool CudaCallbacks::isEmpty() const {
  std::lock_guard<std::mutex> lock(mutex);
  return records.empty();
}

bool CudaCallbacks::areAbandoned() const {
  std::lock_guard<std::mutex> lock(mutex);
  return isAbandoned;
}

} // namespace lockstep::runtime

//===- DeviceQueues.cpp ---------------------------------------------------===//

#include "runtime/device/DeviceQueues.h"

#include <algorithm>

namespace lockstep::runtime {

std::optional<uint32_t> DevicePosition::find(uint64_t executed) const {
  uint64_t count = notes.load(std::memory_order_acquire);
  for (uint64_t i = count; i > 0 && count - i < size; --i) {
    const Note &note = ring[(i - 1) % size];
    if (note.enqueued.load(std::memory_order_relaxed) <= executed)
      return note.command.load(std::memory_order_relaxed);
  }
  return std::nullopt;
}

std::vector<DevicePosition::Noted> DevicePosition::since(uint64_t first) const {
  std::vector<Noted> found;
  uint64_t count = notes.load(std::memory_order_relaxed);
  for (uint64_t i = count - std::min(count, size); i < count; ++i) {
    const Note &note = ring[i % size];
    Noted noted{note.command.load(std::memory_order_relaxed),
                note.enqueued.load(std::memory_order_relaxed)};
    if (noted.enqueued >= first)
      found.push_back(noted);
  }
  return found;
}

Expected<std::unique_ptr<DeviceQueues>>
DeviceQueues::create(Device &device, uint32_t replicas, EventCount &events) {
  auto queues = std::make_unique<DeviceQueues>();
  queues->device = &device;
  if (Expected<ExchangeQueue *> exchange = queues->addExchange(device);
      !exchange)
    return exchange.status();
  queues->begin = device.createEvent({});
  queues->end = device.createEvent([&events] { events.notify(); });
  for (uint32_t i = 0; i < replicas; ++i) {
    ReplicaQueue &replica = queues->replicas.emplace_back();
    replica.ready = device.createEvent([&events] { events.notify(); });
    replica.end = device.createEvent({});
    constexpr uint64_t largestScalar = 8;
    LOCKSTEP_RETURN_IF_ERROR(
        device.allocateHost(largestScalar).moveTo(replica.scalar));
    LOCKSTEP_RETURN_IF_ERROR(device.createQueue().moveTo(replica.queue));
  }
  return queues;
}

Expected<ExchangeQueue *> DeviceQueues::addExchange(Device &device) {
  std::unique_ptr<Queue> queue;
  LOCKSTEP_RETURN_IF_ERROR(
      device.createQueue(QueueUse::Exchange).moveTo(queue));
  ExchangeQueue &added = exchanges.emplace_back();
  added.queue = std::move(queue);
  added.end = device.createEvent({});
  return &added;
}

void DeviceQueues::orderReplicas() {
  exchange().record(*begin);
  for (ReplicaQueue &replica : replicas) {
    replica.position->note(/*command=*/0, replica.queue->enqueued());
    replica.queue->wait(*begin);
  }
}

void DeviceQueues::recordEnd(bool isJoined) {
  Queue &last = exchange();
  auto join = [&](Queue &queue, Event &event) {
    queue.record(event);
    last.wait(event);
  };
  if (!isJoined) {
    for (ExchangeQueue &exchange : exchanges)
      if (exchange.queue.get() != &last)
        join(*exchange.queue, *exchange.end);
    for (ReplicaQueue &replica : replicas)
      join(*replica.queue, *replica.end);
  }
  last.record(*end);
}

bool DeviceQueues::isEndReached() const { return end->isComplete(); }

uint64_t DeviceQueues::progress() const {
  uint64_t count = 0;
  for (const ExchangeQueue &exchange : exchanges)
    count += exchange.queue->progress();
  for (const ReplicaQueue &replica : replicas)
    count += replica.queue->progress();
  return count;
}

Status DeviceQueues::status() const {
  // Errors of replicas first: they name kernels.
  for (const ReplicaQueue &replica : replicas)
    LOCKSTEP_RETURN_IF_ERROR(replica.queue->status());
  for (const ExchangeQueue &exchange : exchanges)
    LOCKSTEP_RETURN_IF_ERROR(exchange.queue->status());
  return Status::success();
}

Status transfer(Device &device, const std::function<void(Queue &)> &commands) {
  std::unique_ptr<Queue> queue;
  LOCKSTEP_RETURN_IF_ERROR(device.createQueue().moveTo(queue));
  commands(*queue);
  return queue->finish();
}

} // namespace lockstep::runtime

//===- DeviceQueues.h - the queues of one program ---------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_DEVICEQUEUES_H
#define LOCKSTEP_RUNTIME_DEVICE_DEVICEQUEUES_H

#include "runtime/device/Device.h"
#include "runtime/support/Futex.h"

#include <array>
#include <deque>
#include <optional>
#include <vector>

namespace lockstep::runtime {

/// The command of a program that the device executes, among the latest that a
/// replica has enqueued. One thread at a time calls `note`, any thread calls
/// `find`.
class DevicePosition {
public:
  /// Later commands of the queue belong to this command of the program.
  void note(uint32_t command, uint64_t enqueued) {
    uint64_t count = notes.load(std::memory_order_relaxed);
    Note &note = ring[count % size];
    note.command.store(command, std::memory_order_relaxed);
    note.enqueued.store(enqueued, std::memory_order_relaxed);
    notes.store(count + 1, std::memory_order_release);
  }
  /// The command that the device executes after `executed` commands of the
  /// queue; none if it has been overwritten.
  std::optional<uint32_t> find(uint64_t executed) const;

  struct Noted {
    uint32_t command = 0;
    uint64_t enqueued = 0;
  };
  /// The latest notes, in their order, of numbers from `first` on. Called by
  /// the thread that calls `note`.
  std::vector<Noted> since(uint64_t first) const;

private:
  static constexpr uint64_t size = 256;
  struct Note {
    std::atomic<uint64_t> enqueued{0};
    std::atomic<uint32_t> command{0};
  };
  std::array<Note, size> ring{};
  std::atomic<uint64_t> notes{0};
};

/// The queue of a replica.
struct ReplicaQueue {
  /// For a scalar that the host reads. Outlives the queue.
  std::unique_ptr<HostMemory> scalar;
  std::unique_ptr<Queue> queue;
  /// Recorded at a point that the device must reach before the replica
  /// continues; and at the end of the queue.
  std::unique_ptr<Event> ready, end;
  std::unique_ptr<DevicePosition> position = std::make_unique<DevicePosition>();

  /// Records `ready` at the end of the queue, and returns whether it is
  /// complete: the device has executed all commands of the replica.
  bool recordReady() {
    queue->record(*ready);
    return ready->isComplete();
  }
  /// The command of the program that the device executes; none if it is idle.
  std::optional<uint32_t> runningCommand() const {
    uint64_t executed = queue->progress();
    return executed == queue->enqueued() ? std::nullopt
                                         : position->find(executed);
  }
};

/// A queue for collectives.
struct ExchangeQueue {
  std::unique_ptr<Queue> queue;
  std::unique_ptr<Event> end;
  /// For each collective that has added itself, the number of the command at
  /// the end of its latest instance; 0: none has been enqueued. Grows before
  /// the first run.
  std::deque<std::atomic<uint64_t>> ends;

  bool hasExecuted(uint64_t command) const {
    return queue->progress() >= command;
  }
};

/// Is told what queues for collectives execute. From any thread.
class ExchangeObserver {
public:
  virtual ~ExchangeObserver() = default;
  /// Around the commands of the collective of a channel, whose operands are
  /// there.
  virtual void exchangeBegins(uint32_t channel, Queue &queue) = 0;
  virtual void exchangeEnds(uint32_t channel, Queue &queue) = 0;
};

/// One queue for each replica, and those for collectives.
struct DeviceQueues {
  Device *device = nullptr;
  /// Null, or for the current run.
  ExchangeObserver *observer = nullptr;
  std::vector<ReplicaQueue> replicas;
  /// The first one is for collectives whose members are all in this executor.
  std::deque<ExchangeQueue> exchanges;
  /// Of the first queue for collectives, before commands of replicas; and of
  /// all queues, recorded on that one.
  std::unique_ptr<Event> begin, end;

  /// `events` are notified when an operation that a replica waits for is
  /// complete; they outlive the queues. Error: the device has no more queues.
  static Expected<std::unique_ptr<DeviceQueues>>
  create(Device &device, uint32_t replicas, EventCount &events);
  /// Adds a queue for collectives, before the first run. Error: the device has
  /// no more queues.
  Expected<ExchangeQueue *> addExchange(Device &device);
  Queue &exchange() { return *exchanges.front().queue; }

  /// Later commands of replicas follow the earlier ones of the first queue for
  /// collectives. Until then, a replica is at its first command.
  void orderReplicas();
  /// Records the end of all queues. Afterwards `isEndReached` returns whether
  /// all commands enqueued so far have been executed. `isJoined`: those of the
  /// first queue for collectives already follow all others, as behind a graph.
  void recordEnd(bool isJoined);
  bool isEndReached() const;

  /// See `Queue`.
  uint64_t progress() const;
  Status status() const;
};

/// Executes commands on a new queue and waits for them. Errors: the device has
/// no more queues, or a command has failed.
Status transfer(Device &device, const std::function<void(Queue &)> &commands);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_DEVICEQUEUES_H

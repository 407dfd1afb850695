//===- DeviceQueues.h - the queues of one program ---------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_DEVICEQUEUES_H
#define LOCKSTEP_RUNTIME_DEVICE_DEVICEQUEUES_H

#include "runtime/device/Device.h"
#include "runtime/support/Futex.h"

#include <array>
#include <optional>
#include <vector>

namespace lockstep::runtime {

/// Which command of a program the device is in, of those that a replica has
/// given to it last. One thread at a time notes, any thread asks.
class DevicePosition {
public:
  /// What follows belongs to this command of the program.
  void note(uint32_t command, uint64_t given) {
    uint64_t count = notes.load(std::memory_order_relaxed);
    Note &note = ring[count % size];
    note.command.store(command, std::memory_order_relaxed);
    note.given.store(given, std::memory_order_relaxed);
    notes.store(count + 1, std::memory_order_release);
  }
  /// The command in which the device is when it has executed so many; none if
  /// that is too long ago.
  std::optional<uint32_t> find(uint64_t executed) const;

private:
  static constexpr uint64_t size = 256;
  struct Note {
    std::atomic<uint64_t> given{0};
    std::atomic<uint32_t> command{0};
  };
  std::array<Note, size> ring{};
  std::atomic<uint64_t> notes{0};
};

/// What a replica gives to a device with queues.
struct ReplicaQueue {
  std::unique_ptr<Queue> queue;
  /// Recorded where the replica cannot go on before the device has arrived
  /// there.
  std::unique_ptr<Event> ready;
  std::unique_ptr<DevicePosition> position = std::make_unique<DevicePosition>();

  /// Whether the device has executed all that the replica has given to it.
  /// Otherwise `ready` becomes complete when it has.
  bool settle() {
    queue->record(*ready);
    return ready->isComplete();
  }
  /// The command of the program that the device executes; none if it has
  /// nothing left to do.
  std::optional<uint32_t> runningCommand() const {
    uint64_t executed = queue->progress();
    return executed == queue->given() ? std::nullopt : position->find(executed);
  }
};

/// One queue for each replica, and one for what they exchange.
struct DeviceQueues {
  std::vector<ReplicaQueue> replicas;
  std::unique_ptr<Queue> exchange;
  std::unique_ptr<Event> exchangeEnd;

  /// `events` are notified when what a replica waits for is complete; they
  /// outlive the queues. Error: the device has no more queues.
  static Expected<std::unique_ptr<DeviceQueues>>
  create(Device &device, uint32_t replicas, EventCount &events);

  /// From now on `isSettled` says whether everything that was given has been
  /// executed.
  void settle();
  bool isSettled() const;

  /// See `Queue`.
  uint64_t progress() const;
  Status status() const;
};

/// Gives commands to a queue of its own, and returns when they have been
/// executed. Errors: the device has no more queues, or a command has failed.
Status transfer(Device &device, const std::function<void(Queue &)> &commands);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_DEVICEQUEUES_H

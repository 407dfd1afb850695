//===- SimulatedDevice.h - a device for tests -------------------*- C++ -*-===//
//
// Errors that would be faults or races on an accelerator fail here, on any
// machine.
//
// - The host cannot touch its memory: addresses are biased by `addressBias`, so
//   that no processor maps them. Only queues remove the bias.
// - Queues execute as late as possible, in a random order: commands start once
//   an event with a callback is recorded or many are pending, and some queues
//   are delayed while others run far ahead. So a missing wait causes wrong
//   results.
// - Host memory of an upload is read, and that of a download written, when the
//   command is executed, not when it is enqueued.
// - What may not be recorded is an error, although it could be executed again.
//
// Kernels are those of the artifact for `cpu`; threads of the device execute
// them. Options: the seed of the random choices, by default 1.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_SIMULATED_SIMULATEDDEVICE_H
#define LOCKSTEP_RUNTIME_DEVICE_SIMULATED_SIMULATEDDEVICE_H

#include "runtime/device/Device.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace lockstep::runtime {

/// Makes an address that no x86-64 processor accepts.
inline constexpr uintptr_t addressBias = uintptr_t(1) << 62;

inline std::byte *biased(std::byte *address) {
  return address ? reinterpret_cast<std::byte *>(
                       reinterpret_cast<uintptr_t>(address) + addressBias)
                 : nullptr;
}

class SimulatedGraph;
class SimulatedQueue;

/// Recorded and completed by numbers: the event is complete when the last
/// record is.
class SimulatedEvent final : public Event {
public:
  explicit SimulatedEvent(std::function<void()> onComplete)
      : onComplete(std::move(onComplete)) {}
  bool isComplete() const override;

private:
  friend class SimulatedDevice;
  friend class SimulatedQueue;
  /// Shared with the commands that refer to the event.
  struct State {
    std::atomic<uint64_t> recorded{0}, completed{0};
    /// The number of the graph in which the latest record is; 0: in none.
    uint64_t graph = 0;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
  std::function<void()> onComplete;
};

/// Of the host's clock, when a thread of the device executes the record.
class SimulatedTimestamp final : public Timestamp {
public:
  Expected<double> secondsSince(const Timestamp &earlier) const override;

private:
  friend class SimulatedQueue;
  /// Nanoseconds; shared with the command.
  std::shared_ptr<std::atomic<int64_t>> time =
      std::make_shared<std::atomic<int64_t>>(0);
};

class SimulatedDevice final : public Device {
public:
  explicit SimulatedDevice(uint64_t seed);
  /// Executes the remaining commands, then stops the threads.
  ~SimulatedDevice() override;

  std::string_view kind() const override { return "simulated"; }
  bool isHost() const override { return false; }
  bool canRecord() const override { return true; }
  Expected<std::unique_ptr<Module>>
  loadModule(const Artifact &artifact, std::string_view target) override;
  Expected<std::unique_ptr<DeviceMemory>> allocate(uint32_t count,
                                                   uint64_t bytes) override;
  Expected<std::unique_ptr<HostMemory>> allocateHost(uint64_t bytes) override;
  Expected<std::unique_ptr<Queue>> createQueue(QueueUse) override;
  std::unique_ptr<Event> createEvent(std::function<void()> onComplete) override;
  Expected<std::unique_ptr<Timestamp>> createTimestamp() override;

  /// Whether bytes of the host are in memory of `allocateHost`.
  bool isAllocated(const std::byte *memory, uint64_t bytes);
  void forgetHost(const std::byte *memory);

private:
  friend class SimulatedGraph;
  friend class SimulatedQueue;

  struct Command {
    /// Empty for records and waits.
    std::function<void()> work;
    std::shared_ptr<SimulatedEvent::State> event;
    /// Of a wait: the number of records that must be complete; of a record: its
    /// number.
    uint64_t number = 0;
    bool isWait = false;
    /// Transfers from or to memory of the host that is not of `allocateHost`.
    bool isTransfer = false;
    /// Of a record of an event with a callback.
    std::function<void()> onComplete;
  };

  /// The commands of one queue.
  struct Lane {
    std::deque<Command> commands;
    /// A thread executes its first command.
    bool isBusy = false;
    /// Lanes with higher numbers go first.
    uint32_t priority = 0;
    std::atomic<uint64_t> enqueued{0}, executed{0};
    /// Where commands are kept while they are recorded.
    SimulatedGraph *graph = nullptr;
  };

  void add(Lane &lane, Command command);
  void remove(Lane *lane);
  bool mayStart() const;
  static bool canProceed(const Lane &lane);
  Lane *choose() const;
  void wake();
  void work();

  std::mutex mutex;
  std::condition_variable changed;
  /// Threads of the device that wait for a command, and callers of `remove`.
  size_t idle = 0, removing = 0;
  std::mt19937_64 random;
  std::vector<Lane *> lanes;
  size_t waiting = 0;
  uint64_t graphs = 0;
  /// Memory of the host that has been allocated, and its bytes.
  std::map<const std::byte *, uint64_t> hostMemory;
  /// Records with a callback among the commands.
  size_t awaited = 0;
  /// The number of commands that must be pending before any is executed, while
  /// no callback is awaited.
  size_t startThreshold = 0;
  static constexpr size_t largestThreshold = 64;
  bool isEnding = false;
  std::vector<std::thread> threads;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_SIMULATED_SIMULATEDDEVICE_H

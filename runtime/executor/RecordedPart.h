//===- RecordedPart.h - commands between decisions --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_RECORDEDPART_H
#define LOCKSTEP_RUNTIME_EXECUTOR_RECORDEDPART_H

#include "runtime/device/DeviceQueues.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace lockstep::runtime {

class ProgramState;
struct Replica;

/// What replicas execute from decisions to the next ones, recorded by their
/// device, and the state in which they are afterwards. No replica has arrived
/// at a collective for which others are missing, neither before nor after it.
class RecordedPart {
public:
  /// Before the commands are recorded.
  explicit RecordedPart(const ProgramState &state);

  /// Instead of `end`, if they could not be: replicas are where they were
  /// before the part, of which the device has executed nothing.
  void undo(ProgramState &state) const;
  /// After the recording. `commands` are those of the device.
  void end(const ProgramState &state, std::unique_ptr<CommandGraph> commands);
  /// Enqueues the commands; replicas are where they wait for them. Other queues
  /// than the first one for collectives are empty.
  void execute(ProgramState &state);

private:
  /// A number of instances of a channel.
  struct Instances {
    uint32_t channel = 0, count = 0;
  };
  struct ReplicaPart {
    uint32_t pc = 0;
    std::vector<int64_t> registers;
    bool isFinished = false;
    /// `Replica::blocked`; the number of an instance is that of the latest one.
    uint64_t blocked = 0;
    std::vector<Instances> started;
    /// With numbers of commands from the beginning of the part.
    std::vector<DevicePosition::Noted> positions;
    /// The number of commands that the queue had before.
    uint64_t before = 0;

    void describe(const Replica &replica);
    void place(Replica &replica) const;
  };
  struct ExchangePart {
    struct End {
      std::atomic<uint64_t> *of = nullptr;
      uint64_t command = 0;
    };
    std::vector<End> ends;
    uint64_t before = 0;
  };

  /// Before `end`, this is what was before the part.
  std::vector<ReplicaPart> replicas;
  std::vector<ExchangePart> exchanges;
  std::vector<Instances> completed;
  std::unique_ptr<CommandGraph> graph;
  bool isExecuted = false;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_RECORDEDPART_H

//===- RecordedRun.h - a program as few commands of a device ----*- C++ -*-===//
//
// The host interprets a program in parts, if its device records commands: a
// part ends where each replica is at a decision (Decisions.h), waits for
// others, or has reached the end. A part is interpreted when it first occurs,
// so that whatever is loaded or connected at its first use is there. The second
// time, its commands are recorded and executed, and from then on, the host
// enqueues what has been recorded as one command. A program without decisions
// is one part.
//
//   run.begin();
//   while (true) {
//     run.beginPart();
//     if (!run.isPartRecorded()) {
//       ... interpret the commands of replicas until none can proceed
//       run.endPart();
//     }
//     if (run.isPartRecorded())
//       run.execute();
//     if (run.isAtEnd())
//       break;
//     ... wait until the device has executed everything
//     run.decide();
//   }
//   run.end();
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_RECORDEDRUN_H
#define LOCKSTEP_RUNTIME_EXECUTOR_RECORDEDRUN_H

#include "runtime/device/DeviceQueues.h"
#include "runtime/executor/Decisions.h"
#include "runtime/executor/RecordedPart.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace lockstep::runtime {

class ProgramState;

/// The recorded parts of a program. The transfers of host scalars and of small
/// outputs are recorded, too. One thread executes runs.
class RecordedRun {
public:
  /// Of a program on a device that records commands; it is a part of `state`,
  /// whose transport exists. `mostReplicas` are those of one executor;
  /// `hasOtherExecutors`, which record the same parts at the same time.
  RecordedRun(ProgramState &state, uint32_t mostReplicas,
              bool hasOtherExecutors);

  /// Why runs are not recorded: the host takes part in them other than by
  /// decisions, or there are too many commands. These are the same in all
  /// executors of a role; without others, the device may also have refused a
  /// recording. Empty if runs are recorded, or will be.
  const std::string &obstacle() const { return reason; }
  /// Why some parts are not recorded; empty if all are, or will be.
  const std::string &omission() const { return partReason; }
  /// Whether commands are the same in every run, even if the device has refused
  /// to record them.
  bool isRepeatable() const { return repeatable; }
  /// Whether runs begin with what has been recorded.
  bool isRecorded() const { return first && first->recorded; }

  /// Before the replicas begin, and after the last part.
  void begin();
  void end() { active = false; }
  /// Whether the host interprets or executes parts.
  bool isActive() const { return active; }

  /// Before each part; begins to record it, if it occurs for the second time.
  /// Error: of the device.
  Status beginPart();
  bool isPartRecorded() const { return current->recorded != nullptr; }
  /// Of a part that is recorded.
  bool writesVariables() const { return current->writesVariables; }
  /// Whether commands are recorded that replicas enqueue.
  bool isRecording() const { return recording != nullptr; }
  /// After a part that was interpreted, or failed. If it was recorded, it is to
  /// be executed next. Error: of the device, which has executed nothing of a
  /// part that was to be recorded.
  Status endPart();
  /// Enqueues a part that has been recorded. The device has executed earlier
  /// commands, but for those of the first queue for collectives.
  void execute();
  /// Whether the last part that has ended was recorded.
  bool endsRecorded() const { return hasExecuted; }
  /// Whether all replicas have reached the end of the program, after a part.
  bool isAtEnd() const;
  /// The device has executed all commands: replicas continue.
  void decide() { held.assign(held.size(), false); }

  /// A replica is at a decision, until `decide`.
  void hold(uint32_t replica) { held[replica] = true; }
  bool isHeld(uint32_t replica) const { return active && held[replica]; }
  /// Whether replicas are at decisions.
  bool isHolding() const;
  /// Whether the device has executed the latest instance of a channel before
  /// the part.
  bool precedesPart(uint32_t channel) const;

  /// The bytes of an output at this address of the device, after a run that has
  /// ended with a recorded part, until the next one; null if their transfer is
  /// not recorded.
  const std::byte *output(const std::byte *device, uint64_t bytes) const;

  /// After an error of `beginPart` or `endPart`: replicas are where they were
  /// before the part, and no run is recorded any more.
  void refuse(const Status &error);
  /// Releases what has been recorded, after a failure.
  void forget();

private:
  /// Of a replica.
  enum class Place : int64_t { ready, finished, decision, rendezvous };
  struct Part {
    std::unique_ptr<RecordedPart> recorded;
    /// It is never recorded.
    bool isOmitted = false;
    bool hasRun = false;
    /// What is recorded writes a variable.
    bool writesVariables = false;
  };

  DeviceQueues &queues() const;
  /// All but that for collectives within this executor.
  std::vector<Queue *> otherQueues() const;
  /// Everything on which the commands of a part depend.
  std::vector<int64_t> findKey() const;
  bool isAtDecision(uint32_t replica) const;
  ProgramPoint pointOf(uint32_t replica) const;
  ProgramPath findPartPath() const;
  bool hasArrivals() const;
  bool mayRecord();
  Status startToRecord();
  void recordScalars();
  Status planOutputs();
  void recordOutputs();

  /// An output in the memory of the device, and where it is in `hostOutputs`.
  struct OutputCopy {
    const std::byte *device = nullptr;
    uint32_t replica = 0;
    uint64_t bytes = 0, offset = 0;
  };

  ProgramState &state;
  const uint32_t mostReplicas;
  std::string reason, partReason;
  bool repeatable = false;
  bool active = false;
  /// By replica.
  std::vector<bool> held;

  std::vector<OutputCopy> outputs;
  /// Their indices, by the address on the device.
  std::unordered_map<const std::byte *, size_t> outputAt;
  std::unique_ptr<HostMemory> hostOutputs;

  /// By their keys.
  std::map<std::vector<int64_t>, Part> parts;
  /// The one with which runs begin.
  const Part *first = nullptr;
  /// In a run, and whether it is its first part.
  Part *current = nullptr;
  bool isFirst = false;
  bool hasExecuted = false;
  /// The current one, if it is not kept among `parts`.
  Part unkept;
  /// Instances of each channel before the current part.
  std::vector<uint32_t> completedBefore;
  uint64_t commandsLeft;
  /// Of the part that is being recorded.
  std::unique_ptr<PartBegin> recording;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_RECORDEDRUN_H

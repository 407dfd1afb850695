//===- RecordedRun.h - a program as one command of a device -----*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_RECORDEDRUN_H
#define LOCKSTEP_RUNTIME_EXECUTOR_RECORDEDRUN_H

#include "runtime/device/DeviceQueues.h"
#include "runtime/executor/Program.h"

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace lockstep::runtime {

class ProgramState;

/// Records the commands that a program enqueues in a run, and executes them in
/// later runs: the host then enqueues one command instead of interpreting the
/// program. The first run is interpreted, so that whatever is loaded or
/// connected at its first use is there. The second one is recorded, and
/// executed. The transfers of host scalars and of small outputs are recorded,
/// too.
class RecordedRun {
public:
  /// Of a program on a device that records commands; it is a part of `state`,
  /// whose transport exists. `mostReplicas` are those of one executor.
  RecordedRun(ProgramState &state, uint32_t mostReplicas);

  /// Why runs are not recorded: the host decides something by data, takes part
  /// in a collective, or there are too many commands. These are the same in all
  /// executors of a role, which record its runs together; without others, the
  /// device may also have refused a recording. Empty if runs are recorded, or
  /// will be.
  const std::string &obstacle() const { return reason; }
  /// Whether commands are the same in every run, even if the device has refused
  /// to record them.
  bool isRepeatable() const { return repeatable; }
  bool isRecorded() const { return graph != nullptr; }
  /// Whether commands are recorded that replicas enqueue.
  bool isRecording() const { return recording; }

  /// Before and after each run that is interpreted: begins to record, if this
  /// is the second run, and ends to. Errors: those of the device.
  Status begin();
  Status end();
  /// Enqueues the run that has just been recorded, or another one, behind what
  /// is enqueued already. The device has executed earlier ones. Replicas wait
  /// for their device at the end of the program.
  void execute();
  /// The bytes of an output at this address of the device, after a run that was
  /// recorded, until the next one; null if their transfer is not recorded.
  const std::byte *output(const std::byte *device, uint64_t bytes) const;

  /// After an error of `begin` or `end`: later runs are interpreted.
  void refuse(const Status &error) { reason = error.message(); }
  /// Releases what has been recorded, after a failure.
  void forget() { graph.reset(); }

private:
  DeviceQueues &queues() const;
  /// All but that for collectives within this executor.
  std::vector<Queue *> others() const;
  std::vector<uint32_t> completed() const;
  void recordScalars();
  Status planOutputs();
  void recordOutputs();
  void startInstances();
  void shiftPositions();

  /// An output in the memory of the device, and where it is in `hostOutputs`.
  struct OutputCopy {
    const std::byte *device = nullptr;
    uint32_t replica = 0;
    uint64_t bytes = 0, offset = 0;
  };

  ProgramState &state;
  std::string reason;
  bool repeatable = false;
  bool hasRun = false;
  bool recording = false;
  /// Instances of each channel that are complete before the recording.
  std::vector<uint32_t> completedBefore;
  /// Instances of each channel that are recorded.
  std::vector<uint32_t> instances;
  /// The number of commands of each exchange and each replica before the
  /// recording.
  std::vector<uint64_t> beforeOfExchange, beforeOfReplica;
  std::vector<OutputCopy> outputs;
  /// Their indices, by the address on the device.
  std::unordered_map<const std::byte *, size_t> outputAt;
  std::unique_ptr<HostMemory> hostOutputs;
  std::unique_ptr<CommandGraph> graph;
  bool isExecuted = false;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_RECORDEDRUN_H

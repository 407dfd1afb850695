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

/// Where a replica is between two parts of a program.
struct ReplicaPlace {
  explicit ReplicaPlace(const Replica &replica);
  /// Moves the replica there. It waits for the device, if it has finished.
  void restore(Replica &replica) const;

  uint32_t pc = 0;
  std::vector<int64_t> registers;
  bool isFinished = false;
  /// `Replica::blocked`; the number of an instance is that of the latest one.
  uint64_t blocked = 0;
  /// The latest one, for reports.
  uint32_t event = 0;
};

/// The state before a part that is recorded.
class PartBegin {
public:
  explicit PartBegin(const ProgramState &state);
  /// If the part could not be recorded, so that the device has executed nothing
  /// of it: replicas are where they were.
  void restore(ProgramState &state) const;

private:
  friend class RecordedPart;

  std::vector<ReplicaPlace> replicas;
  /// Instances that each replica has started, and that are complete, by
  /// channel.
  std::vector<std::vector<uint32_t>> started;
  std::vector<uint32_t> completed;
  /// Commands of each queue.
  std::vector<uint64_t> ofReplicas, ofExchanges;
};

/// What replicas execute from decisions to the next ones, recorded by their
/// device, and the state in which they are afterwards. No replica has arrived
/// at a collective for which others are missing, neither before nor after it.
class RecordedPart {
public:
  /// After the commands have been recorded.
  RecordedPart(const PartBegin &begin, const ProgramState &state,
               std::unique_ptr<CommandGraph> graph);

  /// Enqueues the commands; replicas are where they wait for them. Other queues
  /// than the first one for collectives are empty.
  void execute(ProgramState &state);

private:
  /// A number of instances of a channel.
  struct Instances {
    uint32_t channel = 0, count = 0;
  };
  struct ReplicaPart {
    ReplicaPlace end;
    std::vector<Instances> started;
    /// Numbers of commands are from the beginning of the part.
    std::vector<DevicePosition::Noted> positions;
  };
  struct ExchangeEnd {
    std::atomic<uint64_t> *of = nullptr;
    uint64_t command = 0;
  };

  template <typename Count>
  static std::vector<Instances> difference(const std::vector<uint32_t> &before,
                                           Count after);
  void repeat(ProgramState &state) const;

  std::vector<ReplicaPart> replicas;
  /// By queue for collectives.
  std::vector<std::vector<ExchangeEnd>> exchanges;
  std::vector<Instances> completed;
  std::unique_ptr<CommandGraph> graph;
  bool isExecuted = false;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_RECORDEDPART_H

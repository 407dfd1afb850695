//===- DeviceSide.h - a replica on a device with queues ---------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_DEVICESIDE_H
#define LOCKSTEP_RUNTIME_EXECUTOR_DEVICESIDE_H

#include "runtime/executor/Execution.h"

namespace lockstep::runtime {

/// The interpreter's operations on a device with queues: enqueues commands on
/// the replica's queue, orders the queue with respect to others, and downloads
/// data that the host needs.
class DeviceSide {
public:
  DeviceSide(const Execution &execution, Replica &replica)
      : execution(execution), state(execution.state), replica(replica) {}

  /// Later operations belong to this command.
  void begin(uint32_t pc) { device().position->note(pc, queue().enqueued()); }
  /// The device has completed the download on which the replica was blocked.
  void resume() { isFetched = true; }
  /// Whether the current command continues after `resume`.
  bool isResumed() const { return isFetched; }
  /// Requests what the host needs to execute a command: the integer that it
  /// reads, operands of a collective, or the completion of all enqueued
  /// commands. False: it is not available yet, and the replica is blocked on
  /// the device.
  bool fetch(const Instruction &instruction);
  /// Address of the integer that a command reads.
  const std::byte *scalar() const { return device().scalar->data(); }
  /// Waits for the device while keeping the claim on the replica. False: the
  /// run has been aborted.
  bool await();

  /// Enqueues the first tiles of a launch, whose arguments are in the replica.
  void launch(const Instruction &instruction, uint32_t tiles);
  void copy(std::byte *to, const std::byte *from, uint64_t bytes) {
    queue().copy({to, from, 1, bytes, bytes, bytes});
  }
  /// Orders later commands after the channel's instance or section.
  void pass(uint32_t channel);
  QueuedSection &section(uint32_t channel) {
    return state.queued->sections[channel];
  }
  Queue &queue() { return *device().queue; }

private:
  ReplicaQueue &device() const {
    return state.queued->queues->replicas[replica.index];
  }

  const Execution &execution;
  ProgramState &state;
  Replica &replica;
  bool isFetched = false;
};

/// Replaces `DeviceSide` on devices that execute commands synchronously.
struct NoDeviceSide {
  NoDeviceSide(const Execution &, Replica &) {}
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_DEVICESIDE_H

//===- DeviceSide.h - a replica on a device with queues ---------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_DEVICESIDE_H
#define LOCKSTEP_RUNTIME_EXECUTOR_DEVICESIDE_H

#include "runtime/executor/Interpreter.h"

namespace lockstep::runtime {

/// What the interpreter does where commands are not executed at once: it gives
/// them to the replica's queue, orders the queue among those of others, and
/// reads back what the host has to know.
class DeviceSide {
public:
  DeviceSide(const Execution &execution, Replica &replica)
      : execution(execution), state(execution.state), replica(replica) {}

  /// What follows belongs to this command.
  void begin(uint32_t pc) { device().position->note(pc, queue().given()); }
  /// The replica was blocked on the device, which has what its command has
  /// asked for.
  void resume() { isFetched = true; }
  /// Whether the command at hand goes on after it has been resumed.
  bool isResumed() const { return isFetched; }
  /// Asks for what the host needs to execute a command: the integer that it
  /// reads, operands of a collective, or that everything has been executed.
  /// Whether it is there; if not, the replica is blocked on the device.
  bool fetch(const Instruction &instruction);
  /// Where an integer is that a command reads.
  const std::byte *scalar() const { return replica.fetched.data(); }
  /// Waits for the device without letting go of the replica. False: the run has
  /// been given up.
  bool await();

  /// Gives the first tiles of a launch, whose arguments are in the replica.
  void launch(const Instruction &instruction, uint32_t tiles);
  void copy(std::byte *to, const std::byte *from, uint64_t bytes) {
    queue().copy({to, from, 1, bytes, bytes, bytes});
  }
  /// What comes next follows the channel's instance, or section.
  void pass(uint32_t channel);
  QueuedSection &section(uint32_t channel) {
    return state.queued->sections[channel];
  }
  Queue &queue() { return *device().queue; }

private:
  ReplicaQueue &device() {
    return state.queued->queues->replicas[replica.index];
  }

  const Execution &execution;
  ProgramState &state;
  Replica &replica;
  bool isFetched = false;
};

/// In its place where commands are executed at once.
struct NoDeviceSide {
  NoDeviceSide(const Execution &, Replica &) {}
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_DEVICESIDE_H

//===- ProgramState.h - a program with its memories -------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_PROGRAMSTATE_H
#define LOCKSTEP_RUNTIME_EXECUTOR_PROGRAMSTATE_H

#include "runtime/executor/BatchTransfer.h"
#include "runtime/executor/Program.h"
#include "runtime/executor/RecordedRun.h"
#include "runtime/executor/Replica.h"
#include "runtime/executor/TileScheduler.h"
#include "runtime/executor/VariableMemory.h"
#include "runtime/support/Memory.h"
#include "runtime/transport/TransportFactory.h"
#include "runtime/transport/device/StagedTransport.h"
#include "runtime/transport/threads/Rendezvous.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace lockstep::runtime {

/// Memories that live as long as the session and that all programs share.
struct SessionMemory {
  std::shared_ptr<Device> device;
  std::shared_ptr<TransportFactory> transport;
  std::shared_ptr<VariableMemory> variables;
  std::unique_ptr<HostCopy> replicaVariables, scalars;
  /// Null on a host device, where they are in the artifact.
  std::unique_ptr<DeviceMemory> constants;
  /// Copies of the variables, with `SessionOptions::shadowVariables`.
  Memory shadow;
  Arenas replicaShadow;
};

/// A once section on a device with queues: the commands of the replica that
/// executes it are ordered after the arrivals of all replicas, and later
/// commands of the others after its end.
struct QueuedSection {
  /// One for each replica.
  std::vector<std::unique_ptr<Event>> arrivals;
  std::unique_ptr<Event> done;

  void arrive(Queue &queue, uint32_t replica) const {
    queue.record(*arrivals[replica]);
  }
  void begin(Queue &queue) const {
    for (const std::unique_ptr<Event> &arrival : arrivals)
      queue.wait(*arrival);
  }
  void end(Queue &queue) const { queue.record(*done); }
  void pass(Queue &queue) const { queue.wait(*done); }
};

/// Additional state of a program on a device with queues.
struct QueuedProgram {
  std::unique_ptr<DeviceMemory> ranks;
  std::unique_ptr<BatchTransfer> batches;
  std::unique_ptr<DeviceQueues> queues;
  /// None if the device does not record commands.
  std::optional<RecordedRun> recorded;
  /// By channel; empty if it has no section.
  std::vector<QueuedSection> sections;
  /// Used if there are other executors.
  StagingMemory staging;
};

/// The run-time state of one program, allocated at its first run and kept.
class ProgramState {
public:
  /// `inbox` is null for a session that has all ranks of its groups. `events`
  /// are notified when a device completes an operation that a replica waits
  /// for.
  static Expected<std::unique_ptr<ProgramState>>
  create(const Program &program, const SessionMemory &memory, uint32_t workers,
         TileScheduler &tiles, EventCount &events,
         NetworkInbox *inbox = nullptr);

  /// Destroys graphs first, then the transport, whose library must forget the
  /// memory before it is freed.
  ~ProgramState();

  /// Fills the memory for intermediate values with bytes that are NaN as floats
  /// of every width, large integers, and booleans that are neither 0 nor 1, so
  /// that reads of uninitialized memory change results.
  Status fillMemory();
  /// Resets all replicas to the beginning of the program, without changing
  /// their memories.
  void rewind();
  /// The device has executed everything: replicas that only wait for it are at
  /// the end of the program. Returns how many are there.
  uint32_t finishReplicas();
  /// On a device with queues, enqueues what makes the batches available with
  /// which replicas begin. Error: see `BatchTransfer::begin`.
  Status beginBatches();
  /// On a device with queues, enqueues the transfer of the batches that have
  /// been announced for the next run.
  void sendBatchesAhead();

  /// Sets the address from which a replica reads its batch.
  void bindInput(uint32_t replica, std::byte *address);
  /// See `BatchTransfer::announce`; has no effect on a host device.
  void announceInput(uint32_t replica, const std::byte *address);
  /// Switches the replica to another batch.
  void loadInput(Replica &replica, std::byte *address);
  /// Whether the operation on which a replica is blocked is complete.
  bool canProceed(const Replica &replica) const;
  /// Bytes of a slice as the host sees them; otherwise they are copied into
  /// `storage`, after all enqueued commands of the replica. Error: the device
  /// has failed, or not ended a run that has.
  Expected<const std::byte *> read(uint32_t replica,
                                   const artifact::Buffer *buffer,
                                   uint64_t bytes,
                                   std::vector<std::byte> &storage) const;
  /// Whether the current run is executed in parts.
  bool isInParts() const {
    return queued && queued->recorded && queued->recorded->isActive();
  }
  /// Whether commands are recorded that replicas enqueue.
  bool isRecording() const {
    return queued && queued->recorded && queued->recorded->isRecording();
  }
  /// Whether runs begin with what has been recorded.
  bool isRecorded() const {
    return queued && queued->recorded && queued->recorded->isRecorded();
  }
  /// The host scalars of the session.
  const HostCopy &scalars() const { return *memory.scalars; }
  /// Overwrites bytes in the memory of a program, for fault injection.
  Status write(std::byte *to, std::span<const std::byte> bytes) const;

  const Program &program;
  std::unique_ptr<Replica[]> replicas;
  uint32_t replicaCount = 0;
  std::unique_ptr<Rendezvous> rendezvous;
  std::unique_ptr<Transport> transport;
  /// Null on a host device.
  std::unique_ptr<QueuedProgram> queued;
  /// The lock of the session's variables; see `Instruction::locksVariables`.
  std::timed_mutex *variablesMutex = nullptr;
  /// The tiles of the executor that runs the program.
  const TileScheduler &tiles;

  /// Address of a slice of one replica.
  std::byte *address(uint32_t replica, const artifact::Buffer *buffer) const {
    return replicas[replica].bases[size_t(buffer->space())] + buffer->offset();
  }

private:
  ProgramState(const Program &program, const SessionMemory &memory,
               const TileScheduler &tiles)
      : program(program), tiles(tiles), memory(memory) {}
  Status allocate();
  Status allocateQueued(EventCount &events);
  Status allocateStaging();
  void describeMemory();
  Status createTransport(uint32_t workers, TileScheduler &tiles,
                         NetworkInbox *inbox);
  std::vector<const CollectivePlan *> plans() const;

  const SessionMemory &memory;
  /// Spaces `replica`, one for each, and `shared`.
  std::unique_ptr<DeviceMemory> arenas, shared;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_PROGRAMSTATE_H

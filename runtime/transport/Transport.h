//===- Transport.h - execution of collectives -------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_TRANSPORT_H
#define LOCKSTEP_RUNTIME_TRANSPORT_TRANSPORT_H

#include "runtime/collectives/CollectivePlan.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::runtime {

/// A replica of this session at the moment at which it starts a collective.
struct Arrival {
  uint32_t replica = 0;
  /// Worker that executes the replica.
  uint32_t worker = 0;
  const int64_t *registers = nullptr;
};

/// An execution of a collective. Epochs start at 1 and are counted by each
/// replica for itself.
struct CollectiveInstance {
  uint32_t channel = 0, epoch = 0;
};

/// Carries out the collectives of one program.
class Transport {
public:
  virtual ~Transport() = default;

  /// On a device with queues, before `start`: whether the host has the data
  /// that it needs from the replica's operands. If not, a download has been
  /// enqueued; the replica starts once `ReplicaQueue::ready` reports its end.
  virtual bool prepare(const CollectivePlan & /*plan*/, uint32_t /*replica*/) {
    return true;
  }
  /// Registers the arrival of a replica; never blocks. A member's operands
  /// belong to the transport until the `Rendezvous` of the program reports the
  /// instance complete. It is then complete for every member of this session,
  /// and a thread that reads the completion sees all results. Error: a size
  /// that exceeds its bound.
  virtual Status start(const CollectivePlan &plan, const Arrival &arrival) = 0;

  /// On a device with queues, when a replica continues after a wait: orders the
  /// later operations of its queue after the instance.
  virtual void pass(const CollectivePlan & /*plan*/, uint32_t /*replica*/) {}

  /// On a device with queues: whether every run enqueues the same commands, if
  /// sizes are static, so that they can be recorded.
  virtual bool canRecord() const { return false; }
  /// Called before a run of the program, by one thread.
  virtual Status begin() { return Status::success(); }
  /// Processes messages of other executors; never blocks. Error: a message does
  /// not fit the program or the sizes of the collective.
  virtual Status poll(uint32_t /*worker*/) { return Status::success(); }
  /// An error of what is enqueued on a device that the device does not report,
  /// such as a link that is lost. Called from time to time by threads that wait
  /// for an end of it, if `needsCheck`.
  virtual Status check() { return Status::success(); }
  virtual bool needsCheck() const { return false; }
  /// Called after a failure, by the thread that runs the program: ends what is
  /// enqueued on a device and waits for other executors. May be called again.
  virtual void abort() {}
  /// Instances that are complete for the host, but not on the device. For
  /// reports; from any thread.
  virtual std::vector<CollectiveInstance> unfinished() const { return {}; }
  /// Whether a rank of another executor is known to have arrived at an
  /// instance. For reports; from any thread.
  virtual bool hasArrived(uint32_t /*channel*/, uint32_t /*epoch*/,
                          uint32_t /*rank*/) const {
    return false;
  }
  /// Whether the executor of this rank sends its first message to this one
  /// without waiting for others, so that `hasArrived` tells whether it has
  /// arrived.
  virtual bool seesArrival(uint32_t /*channel*/, uint32_t /*rank*/) const {
    return false;
  }
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_TRANSPORT_H

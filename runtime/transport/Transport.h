//===- Transport.h - how members of a collective meet -----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_TRANSPORT_H
#define LOCKSTEP_RUNTIME_TRANSPORT_TRANSPORT_H

#include "runtime/collectives/CollectivePlan.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>

namespace lockstep::runtime {

/// A replica of this session at the moment at which it starts a collective.
struct Arrival {
  uint32_t replica = 0;
  /// Worker that executes the replica.
  uint32_t worker = 0;
  const int64_t *registers = nullptr;
};

/// Carries out the collectives of one program. An instance of a collective is
/// (channel, epoch); epochs start at 1 and are counted by each replica for
/// itself.
class Transport {
public:
  virtual ~Transport() = default;

  /// On a device with queues, before `start`: whether the host has what it
  /// needs of the replica's operands. If not, it has been asked for, and
  /// `ReplicaQueue::ready` tells when it is there; then the replica starts.
  virtual bool prepare(const CollectivePlan & /*plan*/, uint32_t /*replica*/) {
    return true;
  }
  /// The replica's part is there; never blocks. A member's operands belong to
  /// the transport until the `Rendezvous` of the program says that the instance
  /// is complete: then it is at every member of this session, and all bytes
  /// that it has written are visible to who asks. Error: a size that breaks its
  /// bound.
  virtual Status start(const CollectivePlan &plan, const Arrival &arrival) = 0;

  /// On a device with queues, when a replica goes on behind a wait: what its
  /// queue does next follows the instance.
  virtual void pass(const CollectivePlan & /*plan*/, uint32_t /*replica*/) {}

  /// Called before a run of the program, by one thread.
  virtual Status begin() { return Status::success(); }
  /// Goes on with what other executors have sent; never blocks. Error: they
  /// have given up, or what they have sent does not fit.
  virtual Status poll(uint32_t /*worker*/) { return Status::success(); }
  /// Whether the part of a rank elsewhere in an instance is known to be there.
  /// For reports; from any thread.
  virtual bool hasArrived(uint32_t /*channel*/, uint32_t /*epoch*/,
                          uint32_t /*rank*/) const {
    return false;
  }
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_TRANSPORT_H

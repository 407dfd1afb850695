//===- Transport.h - how members of a collective meet -----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_TRANSPORT_H
#define LOCKSTEP_RUNTIME_TRANSPORT_TRANSPORT_H

#include "runtime/collectives/CollectivePlan.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>

namespace lockstep::runtime {

/// A replica at the moment at which it starts a collective.
struct Arrival {
  uint32_t replica = 0;
  /// Worker that executes the replica.
  uint32_t worker = 0;
  const int64_t *registers = nullptr;
};

/// Carries out the collectives of one program. An instance of a collective is (channel, epoch);
/// epochs start at 1 and are counted by each replica for itself.
class Transport {
public:
  virtual ~Transport() = default;

  /// The replica's part is there; never blocks. A member's operands belong to the transport until
  /// `test` is true for the instance. Error: a size that breaks its bound.
  virtual Status start(const CollectivePlan &plan, const Arrival &arrival) = 0;

  /// Whether an instance is complete at every member of this process. Once true, all bytes that it
  /// has written are visible to the caller.
  virtual bool test(uint32_t channel, uint32_t epoch) const = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_TRANSPORT_H

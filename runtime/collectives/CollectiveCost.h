//===- CollectiveCost.h - bytes and time of a collective --------*- C++ -*-===//
//
// The α-β model: a message of m bytes takes α + β m, and a member sends one
// message at a time while it receives another. Executors exchange directly:
// each sends one message to every other that needs something of it, without
// rings and trees. Lower bounds: Chan, Heimlich, Purkayastha, van de Geijn,
// "Collective communication: theory, practice, and experience", 2007, section
// 3.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVECOST_H
#define LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVECOST_H

#include "runtime/collectives/CollectiveKinds.h"

#include <cstdint>

namespace lockstep::runtime {

/// A link between two executors.
struct Link {
  /// α: seconds for a message of no bytes.
  double latency = 0;
  /// β: seconds per byte.
  double secondsPerByte = 0;
};

/// The messages and bytes over the link of the busiest member of a collective,
/// in the busier direction.
struct Traffic {
  uint64_t messages = 0, bytes = 0;

  double seconds(const Link &link) const {
    return double(messages) * link.latency +
           double(bytes) * link.secondsPerByte;
  }
};

/// Whether an all_reduce of this many bytes of accumulators is done in two
/// phases: each executor owns a part, which it reduces and sends to the others.
/// For fewer bytes, the latency of a second message outweighs its bytes.
bool isReducedInParts(artifact::CollectiveKind kind, uint64_t bytes);

/// Whether executors of one host exchange among themselves what each of several
/// hosts sends or receives once, if there are several on each.
bool isExchangedByHost(artifact::CollectiveKind kind);

/// The traffic of this implementation, for `members` > 0 members in one
/// executor each, all on one host or each on one of its own. `bytes` are those
/// of the operands of one member, or of the root; of a reduction, those of the
/// accumulators.
Traffic trafficOf(artifact::CollectiveKind kind, uint64_t members,
                  uint64_t bytes);
/// The same for an all_reduce that is done in parts or not, whatever its bytes.
Traffic trafficOf(artifact::CollectiveKind kind, uint64_t members,
                  uint64_t bytes, bool inParts);

/// The lower bound.
Traffic leastTrafficOf(artifact::CollectiveKind kind, uint64_t members,
                       uint64_t bytes);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVECOST_H

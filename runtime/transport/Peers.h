//===- Peers.h - the executors of a collective ------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_PEERS_H
#define LOCKSTEP_RUNTIME_TRANSPORT_PEERS_H

#include "runtime/collectives/CollectivePlan.h"
#include "runtime/support/RankRange.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::runtime {

/// An executor that has members of a collective: `count` of them, from position
/// `first` among all members.
struct Peer {
  /// Index in `Network::executors`.
  uint32_t executor = 0;
  uint32_t first = 0, count = 0;
};

/// The executors of a collective, ascending by rank.
struct Peers {
  std::vector<Peer> all;
  /// Index in `all` of the executor that asks.
  uint32_t self = 0;

  /// Index in `all` of the executor that has the member at `position`, which is
  /// below the number of members.
  uint32_t of(uint32_t position) const {
    uint32_t peer = 0;
    while (position - all[peer].first >= all[peer].count)
      ++peer;
    return peer;
  }

  /// Of a collective with members of `executors[self]`. Error: no executor has
  /// a member.
  static Expected<Peers> find(const CollectivePlan &plan,
                              std::span<const RankRange> executors,
                              uint32_t self);
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_PEERS_H

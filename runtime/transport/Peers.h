//===- Peers.h - the executors of a collective ------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_PEERS_H
#define LOCKSTEP_RUNTIME_TRANSPORT_PEERS_H

#include "runtime/collectives/CollectivePlan.h"
#include "runtime/transport/Network.h"

#include <cstdint>
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
  /// `all` consists of groups of this many neighbors, each on a host of its
  /// own. Otherwise the size of `all`, and they exchange as on one host: there
  /// is one, or one for each, or hosts have different numbers of executors, or
  /// some that are not neighbors.
  uint32_t perHost = 0;

  uint32_t hosts() const { return uint32_t(all.size()) / perHost; }
  /// Of a peer: its host, and its place among the peers there.
  uint32_t hostOf(uint32_t peer) const { return peer / perHost; }
  uint32_t placeOf(uint32_t peer) const { return peer % perHost; }
  /// The peers at the place of one on all hosts, itself included.
  std::vector<uint32_t> atPlaceOf(uint32_t peer) const;
  /// The peers on the host of one, itself included.
  std::vector<uint32_t> onHostOf(uint32_t peer) const;

  /// Index in `all` of the executor that has the member at `position`, which is
  /// below the number of members.
  uint32_t of(uint32_t position) const {
    uint32_t peer = 0;
    while (position - all[peer].first >= all[peer].count)
      ++peer;
    return peer;
  }

  /// Of a collective with members of executor `network.self()`. Error: no
  /// executor has a member.
  static Expected<Peers> find(const CollectivePlan &plan,
                              const Network &network);
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_PEERS_H

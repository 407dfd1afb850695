//===- Peers.cpp - the executors of a collective --------------------------===//

#include "runtime/transport/Peers.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace lockstep::runtime {

std::vector<uint32_t> Peers::atPlaceOf(uint32_t peer) const {
  std::vector<uint32_t> found;
  for (uint32_t host = 0; host < hosts(); ++host)
    found.push_back(host * perHost + placeOf(peer));
  return found;
}

std::vector<uint32_t> Peers::onHostOf(uint32_t peer) const {
  std::vector<uint32_t> found;
  for (uint32_t place = 0; place < perHost; ++place)
    found.push_back(hostOf(peer) * perHost + place);
  return found;
}

/// `Peers::perHost` of peers with these hosts.
static uint32_t countPerHost(std::span<const uint32_t> hosts) {
  auto all = uint32_t(hosts.size());
  auto first = uint32_t(
      std::ranges::find_if(
          hosts, [&](uint32_t host) { return host != hosts.front(); }) -
      hosts.begin());
  if (first == 1 || all % first != 0)
    return all;
  std::set<uint32_t> found;
  for (uint32_t begin = 0; begin < all; begin += first) {
    std::span<const uint32_t> group = hosts.subspan(begin, first);
    if (!found.insert(group.front()).second ||
        std::ranges::count(group, group.front()) != first)
      return all;
  }
  return first;
}

Expected<Peers> Peers::find(const CollectivePlan &plan,
                            const Network &network) {
  std::span<const RankRange> executors = network.executors();
  Peers peers;
  std::vector<uint32_t> hosts;
  // Members are ascending, so that those of one executor are consecutive.
  for (uint32_t position = 0; position < plan.members.size();) {
    auto executor = std::ranges::find_if(executors, [&](const RankRange &own) {
      return own.contains(plan.members[position]);
    });
    if (executor == executors.end())
      return invalidArgument(fmt::format(
          "no executor of the network has rank {}", plan.members[position]));
    Peer peer{uint32_t(executor - executors.begin()), position, 0};
    for (; position < plan.members.size() &&
           executor->contains(plan.members[position]);
         ++position)
      ++peer.count;
    if (peer.executor == network.self())
      peers.self = uint32_t(peers.all.size());
    hosts.push_back(network.hosts()[peer.executor]);
    peers.all.push_back(peer);
  }
  peers.perHost = countPerHost(hosts);
  return peers;
}

} // namespace lockstep::runtime

//===- Peers.cpp - the executors of a collective --------------------------===//

#include "runtime/transport/Peers.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime {

Expected<Peers> Peers::find(const CollectivePlan &plan,
                            std::span<const RankRange> executors,
                            uint32_t self) {
  Peers peers;
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
    if (peer.executor == self)
      peers.self = uint32_t(peers.all.size());
    peers.all.push_back(peer);
  }
  return peers;
}

} // namespace lockstep::runtime

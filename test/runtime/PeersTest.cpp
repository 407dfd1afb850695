//===- PeersTest.cpp - executors of a collective and their hosts ----------===//

#include "runtime/transport/Peers.h"
#include "runtime/transport/local/LocalNetwork.h"

#include "gtest/gtest.h"

using namespace lockstep::runtime;

namespace {

/// Those of a collective of `members`, with one rank in each executor, for the
/// executor of the first member.
Peers find(std::vector<uint32_t> hosts, std::vector<uint32_t> members) {
  std::vector<RankRange> executors;
  for (uint32_t rank = 0; rank < hosts.size(); ++rank)
    executors.push_back({rank, 1});
  auto network = *LocalNetwork::create(executors, std::move(hosts));
  CollectivePlan plan;
  plan.members = std::move(members);
  return *Peers::find(plan, *network[plan.members.front()]);
}

uint32_t perHost(const std::vector<uint32_t> &hosts) {
  std::vector<uint32_t> all;
  for (uint32_t rank = 0; rank < hosts.size(); ++rank)
    all.push_back(rank);
  return find(hosts, all).perHost;
}

TEST(Peers, areGroupedByHost) {
  EXPECT_EQ(perHost({0, 0, 1, 1}), 2u);
  EXPECT_EQ(perHost({7, 7, 7, 2, 2, 2}), 3u);
  EXPECT_EQ(perHost({0, 0, 1, 1, 2, 2}), 2u);
}

TEST(Peers, areOneGroupIfHostsAreNotAlike) {
  EXPECT_EQ(perHost({5}), 1u);
  EXPECT_EQ(perHost({0, 0}), 2u);
  EXPECT_EQ(perHost({0, 1}), 2u);
  // Not neighbors.
  EXPECT_EQ(perHost({0, 1, 0, 1}), 4u);
  EXPECT_EQ(perHost({0, 0, 1, 1, 0, 0}), 6u);
  // Not as many on each.
  EXPECT_EQ(perHost({0, 0, 1}), 3u);
  EXPECT_EQ(perHost({0, 0, 1, 1, 1, 1}), 6u);
  EXPECT_EQ(perHost({0, 0, 1, 2}), 4u);
}

// Only the hosts of members count.
TEST(Peers, ofSomeRanks) {
  Peers peers = find({0, 0, 0, 1, 1, 1}, {1, 2, 3, 5});
  EXPECT_EQ(peers.perHost, 2u);
  EXPECT_EQ(peers.hosts(), 2u);
  EXPECT_EQ(peers.hostOf(2), 1u);
  EXPECT_EQ(peers.placeOf(3), 1u);
  EXPECT_EQ(peers.atPlaceOf(3), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(peers.onHostOf(3), (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(find({0, 0, 0, 1, 1, 1}, {1, 3, 4, 5}).perHost, 4u);
}

} // namespace

//===- ServerClusterTest.cpp - tests of clusters and layouts --------------===//

#include "runtime/model/ServerCluster.h"

#include <gtest/gtest.h>

using namespace lockstep::runtime;

namespace {

std::string describe(const Expected<std::vector<PlacedShard>> &shards) {
  if (!shards)
    return shards.status().message();
  std::string text;
  for (const PlacedShard &shard : *shards)
    text += std::to_string(shard.shape.empty() ? 0 : shard.shape.front()) +
            "@" + std::to_string(shard.server) + " ";
  return text;
}

std::vector<int64_t> list(std::initializer_list<int64_t> values) {
  return values;
}

} // namespace

TEST(ServerCluster, NeedsBothRoles) {
  EXPECT_TRUE(ServerCluster::create(1, 1).status().ok());
  EXPECT_EQ(
      ServerCluster::create(0, 2).status().message(),
      "expected a worker and a server at least, found 0 and 2 [E_CLUSTER]");
  EXPECT_EQ(
      ServerCluster::create(2, 0).status().message(),
      "expected a worker and a server at least, found 2 and 0 [E_CLUSTER]");
}

// One counter for variables and shards.
TEST(ServerCluster, ShardsTakeTurns) {
  Layout layout(*ServerCluster::create(1, 2));
  EXPECT_EQ(describe(layout.place({}, {})), "0@0 ");
  EXPECT_EQ(describe(layout.place(list({13, 2}), list({5, 1}))),
            "3@1 3@0 3@1 2@0 2@1 ");
  EXPECT_EQ(describe(layout.place(list({4}), list({1}))), "4@0 ");
  EXPECT_NE(describe(layout.place(list({4, 4}), list({1, 2})))
                .find("[E_PARTITION_AXIS]"),
            std::string::npos);
  EXPECT_NE(
      describe(layout.place(list({4}), list({0}))).find("[E_PARTITION_AXIS]"),
      std::string::npos);
  EXPECT_EQ(Layout::placeBeside({{2}, 1}, list({7, 3})).server, 1u);
}

//===- SharedCoresTest.cpp ------------------------------------------------===//

#include "runtime/model/SharedCores.h"

#include "gtest/gtest.h"

using namespace lockstep::runtime;

namespace {

Topology fourCores() {
  Topology topology;
  topology.reducesOnCompute = true;
  topology.cores = 4;
  topology.cacheBytes = 1000;
  topology.compute = {
      .flopsPerSecond = 1, .bytesPerSecond = 10, .launchSeconds = 1};
  return topology;
}

constexpr KernelShape oneTile = {}, manyTiles = {.tiles = 64},
                      once = {.tiles = 64, .isOnce = true},
                      onceOfOneTile = {.isOnce = true};

// With one tile, a replica does not use more than one core, and cores without a
// replica are idle.
TEST(SharedCores, ExecuteReplicasInRounds) {
  Topology topology = fourCores();
  EXPECT_EQ(SharedCores(topology, 1).share(oneTile), 1);
  EXPECT_EQ(SharedCores(topology, 4).share(oneTile), 1);
  EXPECT_EQ(SharedCores(topology, 5).share(oneTile), 2);
  EXPECT_EQ(SharedCores(topology, 8).share(oneTile), 2);
}

TEST(SharedCores, ShareTilesWhereTheyAreIdle) {
  Topology topology = fourCores();
  EXPECT_EQ(SharedCores(topology, 1).share(manyTiles), 0.25);
  EXPECT_EQ(SharedCores(topology, 2).share(manyTiles), 0.5);
  EXPECT_EQ(SharedCores(topology, 2).share({.tiles = 2}), 0.5);
  EXPECT_EQ(SharedCores(topology, 1).share({.tiles = 2}), 0.5);
  EXPECT_EQ(SharedCores(topology, 5).share(manyTiles), 1.25);
  EXPECT_EQ(SharedCores(topology, 8).share(manyTiles), 2);
}

TEST(SharedCores, ExecuteSectionsOfOneReplica) {
  Topology topology = fourCores();
  for (uint64_t replicas : {1, 4, 64}) {
    EXPECT_EQ(SharedCores(topology, replicas).share(once), 0.25);
    EXPECT_EQ(SharedCores(topology, replicas).share(onceOfOneTile), 1);
    EXPECT_EQ(SharedCores(topology, replicas).coresPerKernel(once), 4);
  }
}

TEST(SharedCores, HaveOneMemory) {
  Topology topology = fourCores();
  auto rate = [&](uint64_t replicas, KernelShape kernel, uint64_t bytes) {
    return SharedCores(topology, replicas).rates(kernel, bytes).bytesPerSecond;
  };
  EXPECT_EQ(rate(4, oneTile, 5000), 10);
  topology.memoryBytesPerSecond = 20;
  EXPECT_EQ(rate(1, oneTile, 5000), 10);
  EXPECT_EQ(rate(4, oneTile, 5000), 5);
  EXPECT_EQ(rate(8, oneTile, 5000), 5);
  EXPECT_EQ(rate(1, manyTiles, 5000), 5);
  EXPECT_EQ(rate(8, once, 5000), 5);
  EXPECT_EQ(rate(8, onceOfOneTile, 5000), 10);
  // Each core has a cache of its own.
  EXPECT_EQ(rate(8, oneTile, 1000), 10);
  topology.cacheBytesPerSecond = 100;
  EXPECT_EQ(rate(8, oneTile, 1000), 100);
  EXPECT_EQ(rate(8, oneTile, 1001), 5);
}

} // namespace

//===- CostModelTest.cpp --------------------------------------------------===//

#include "runtime/model/CostModel.h"

#include "runtime/schema/artifact_generated.h"

#include "gtest/gtest.h"

using namespace lockstep::runtime;
using lockstep::artifact::CollectiveKind;

namespace {

constexpr double kLatency = 1e-5, kPerByte = 1e-9;

Topology oneLevel(ExchangeAlgorithm algorithm) {
  Topology topology;
  topology.algorithm = algorithm;
  topology.levels = {{"wire", 0, {kLatency, kPerByte}}};
  return topology;
}

TEST(CostModel, OfAKernelIsArithmeticOrMemory) {
  ComputeRates rates = {
      .flopsPerSecond = 1e9, .bytesPerSecond = 1e8, .launchSeconds = 1e-6};
  EXPECT_DOUBLE_EQ(kernelSeconds(rates, 1000, 8), 1e-6 + 1e-6);
  EXPECT_DOUBLE_EQ(kernelSeconds(rates, 10, 1000), 1e-6 + 1e-5);
}

TEST(CostModel, OfDirectExchangeIsItsTraffic) {
  Topology topology = oneLevel(ExchangeAlgorithm::direct);
  for (uint64_t members : {2, 3, 8})
    for (uint64_t bytes : {0, 100, 65536, 1 << 20})
      EXPECT_DOUBLE_EQ(collectiveSeconds(topology, CollectiveKind::all_reduce,
                                         members, bytes),
                       trafficOf(CollectiveKind::all_reduce, members, bytes)
                           .seconds({kLatency, kPerByte}));
}

// In one process, an all_reduce of 4 operands reads them and writes one result.
TEST(CostModel, InOneProcessIsMemoryTraffic) {
  Topology topology = oneLevel(ExchangeAlgorithm::direct);
  topology.reducesOnCompute = true;
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_reduce, 4, 1000),
      kLatency + 5000 * kPerByte);
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_gather, 4, 1000),
      kLatency + 8000 * kPerByte);
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::broadcast, 4, 1000),
      kLatency + 2000 * kPerByte);
}

TEST(CostModel, InOneProcessIsARendezvousOfAllMembers) {
  Topology topology = oneLevel(ExchangeAlgorithm::direct);
  topology.reducesOnCompute = true;
  double before =
      collectiveSeconds(topology, CollectiveKind::all_reduce, 4, 1000);
  topology.rendezvousSeconds = 1e-6;
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_reduce, 4, 1000),
      before + 4e-6);
  EXPECT_EQ(collectiveSeconds(topology, CollectiveKind::all_reduce, 1, 1000),
            0);
}

TEST(CostModel, OfOneMemberIsNothing) {
  for (ExchangeAlgorithm algorithm :
       {ExchangeAlgorithm::direct, ExchangeAlgorithm::ringOrTree})
    for (const CollectiveProperties &kind : CollectiveProperties::all())
      EXPECT_EQ(collectiveSeconds(oneLevel(algorithm), kind.kind, 1, 4096), 0)
          << kind.name;
}

// Small: up and down a tree of 8 members, 3 messages each. Large: around a
// ring of 8, 7 messages twice, with 7/8 of the bytes.
TEST(CostModel, TakesTheFasterOfRingAndTree) {
  Topology topology = oneLevel(ExchangeAlgorithm::ringOrTree);
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_reduce, 8, 80),
      6 * kLatency + 160 * kPerByte);
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_reduce, 8, 8 << 20),
      14 * kLatency + (14 << 20) * kPerByte);
}

// Of two levels, the second carries what each of the 4 neighbors has reduced.
TEST(CostModel, DividesOverLevels) {
  Topology topology = oneLevel(ExchangeAlgorithm::direct);
  Link near = {1e-6, 1e-10}, far = {kLatency, kPerByte};
  topology.levels = {{"near", 4, near}, {"far", 0, far}};
  auto traffic = [](uint64_t members, uint64_t bytes) {
    return trafficOf(CollectiveKind::all_reduce, members, bytes);
  };
  uint64_t bytes = 1 << 22;
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_reduce, 8, bytes),
      traffic(4, bytes).seconds(near) + traffic(2, bytes / 4).seconds(far));
  // Within one level, as without the other.
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_reduce, 4, bytes),
      traffic(4, bytes).seconds(near));
  // Rows are gathered from far first, and from near all of them.
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_gather, 8, bytes),
      trafficOf(CollectiveKind::all_gather, 2, bytes).seconds(far) +
          trafficOf(CollectiveKind::all_gather, 4, 2 * bytes).seconds(near));
  // A part of 32 KiB is still divided among the members of the far level.
  Traffic ofAPart = {2, 32 << 10};
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_reduce, 8, 128 << 10),
      traffic(4, 128 << 10).seconds(near) + ofAPart.seconds(far));
  // Few bytes are reduced as a whole on each level.
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_reduce, 8, 1000),
      traffic(4, 1000).seconds(near) + traffic(2, 1000).seconds(far));
  for (CollectiveKind kind :
       {CollectiveKind::reduce_scatter, CollectiveKind::barrier})
    EXPECT_DOUBLE_EQ(collectiveSeconds(topology, kind, 8, bytes),
                     trafficOf(kind, 4, bytes).seconds(near) +
                         trafficOf(kind, 2, bytes / 4).seconds(far));
  // Hosts with different numbers of members exchange as if each were alone.
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_reduce, 6, bytes),
      traffic(6, bytes).seconds(far));
  // The root sends to each other member, also on its own host.
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::broadcast, 8, bytes),
      trafficOf(CollectiveKind::broadcast, 8, bytes).seconds(far));
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::broadcast, 4, bytes),
      trafficOf(CollectiveKind::broadcast, 4, bytes).seconds(near));
}

// NCCL sends pieces, which are on both levels at the same time: 2 x 7/8 of the
// bytes on the near one, 2 x 1/2 of an eighth on the far one.
TEST(CostModel, PipelinesLevelsOfRingsAndTrees) {
  Topology topology = oneLevel(ExchangeAlgorithm::ringOrTree);
  uint64_t bytes = 1 << 30;
  for (double farPerByte : {1e-10, 1e-8}) {
    Link near = {1e-6, 1e-9}, far = {kLatency, farPerByte};
    topology.levels = {{"near", 8, near}, {"far", 0, far}};
    double onNear = 14.0 / 8 * double(bytes) * near.secondsPerByte,
           onFar = 1.0 / 8 * double(bytes) * farPerByte;
    EXPECT_DOUBLE_EQ(
        collectiveSeconds(topology, CollectiveKind::all_reduce, 16, bytes),
        14 * near.latency + 2 * far.latency + std::max(onNear, onFar))
        << farPerByte;
  }
  // Few bytes: the fewest messages, a tree on the near level.
  topology.levels = {{"near", 8, {1e-6, 1e-9}}, {"far", 0, {kLatency, 1e-9}}};
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_reduce, 16, 80),
      6e-6 + 2 * kLatency + 160e-9);
}

// 248 machines with 8 H200 and 8 NICs of 400 Gbit/s each, whose links are those
// of an H100: an all_reduce of 512 MiB has a bus bandwidth of typically 350
// GB/s (github.com/NVIDIA/nccl-tests, issue 283).
TEST(CostModel, IsNearToWhatNcclReaches) {
  Topology topology = *Topology::preset("dgx-h100");
  uint64_t members = 1984, bytes = 512 << 20;
  double seconds = collectiveSeconds(topology, CollectiveKind::all_reduce,
                                     members, bytes),
         busBandwidth = 2.0 * double(members - 1) / double(members) *
                        double(bytes) / seconds;
  EXPECT_NEAR(busBandwidth, 350e9, 0.15 * 350e9);
}

// The last level connects any number, whatever its size.
TEST(CostModel, OfMoreMembersThanTheLevelsHave) {
  Topology topology = oneLevel(ExchangeAlgorithm::direct);
  topology.levels[0].size = 2;
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(topology, CollectiveKind::all_reduce, 4, 1 << 20),
      trafficOf(CollectiveKind::all_reduce, 4, 1 << 20)
          .seconds({kLatency, kPerByte}));
}

void expectSameTimes(const Topology &topology, uint64_t members,
                     double tolerance) {
  TransferTime time =
      transferTime(topology, CollectiveKind::all_reduce, members);
  EXPECT_LE(time.getPieces().size(), 64u) << topology.name;
  for (uint64_t bytes = 1; bytes < uint64_t(1) << 36;
       bytes = bytes * 9 / 8 + 1) {
    double expected =
        collectiveSeconds(topology, CollectiveKind::all_reduce, members, bytes);
    EXPECT_NEAR(time.seconds(bytes), expected, tolerance * expected)
        << topology.name << ", " << members << " members, " << bytes
        << " bytes";
  }
}

TEST(CostModel, AsAFunctionOfBytes) {
  for (const char *name : Topology::presets())
    for (uint64_t members : {2, 4, 64})
      expectSameTimes(*Topology::preset(name), members, 0.02);
  // The algorithm of the farther level changes at no power of two.
  Topology topology = oneLevel(ExchangeAlgorithm::direct);
  topology.levels = {{"a", 5, {1e-6, 1e-10}}, {"b", 0, {kLatency, kPerByte}}};
  for (uint64_t members : {6, 10, 44})
    expectSameTimes(topology, members, 0.02);
}

} // namespace

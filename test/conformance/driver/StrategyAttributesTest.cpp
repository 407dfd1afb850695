//===- StrategyAttributesTest.cpp - attributes of a strategy --------------===//
//
// The rows that recorded cases ask for are compared by the conformance driver;
// these are the others.
//
//===----------------------------------------------------------------------===//

#include "test/conformance/driver/StrategyAttributes.h"

#include <gtest/gtest.h>

using namespace lockstep::replica;

namespace {

using Names = std::vector<std::string>;

TEST(StrategyAttributes, ProcessesThatWorkTogetherKnowTheirTask) {
  for (Kind kind :
       {Kind::Default, Kind::OneDevice, Kind::Mirrored, Kind::CentralStorage})
    EXPECT_FALSE(StrategyAttributes::of(kind, 1, 1, 0).task);

  auto worker = StrategyAttributes::of(
      Kind::MultiWorkerMirrored, /*replicas=*/6, /*workers=*/3, /*worker=*/2);
  ASSERT_TRUE(worker.task); // [1.3-resolver]
  EXPECT_EQ(worker.task->workers, 3);
  EXPECT_EQ(worker.task->servers, 0);
  EXPECT_EQ(worker.task->type, "worker");
  EXPECT_EQ(worker.task->index, 2);
  EXPECT_TRUE(worker.hasClusterResolver);

  auto ofServers =
      StrategyAttributes::of(Kind::ParameterServer, /*replicas=*/1,
                             /*workers=*/4, /*worker=*/1, /*servers=*/2);
  ASSERT_TRUE(ofServers.task);
  EXPECT_EQ(ofServers.task->workers, 4);
  EXPECT_EQ(ofServers.task->servers, 2);
  EXPECT_EQ(ofServers.task->index, 1);
  EXPECT_FALSE(ofServers.hasClusterResolver);
}

TEST(StrategyAttributes, ReplicasHaveTheDevicesOfTheirWorker) { // [2-devices]
  EXPECT_EQ(StrategyAttributes::of(Kind::Default, 1, 1, 0).getReplicaDevice(0),
            "");
  EXPECT_EQ(StrategyAttributes::of(Kind::Mirrored, 3, 1, 0).getReplicaDevice(2),
            "CPU:2");
  auto worker = StrategyAttributes::of(
      Kind::MultiWorkerMirrored, /*replicas=*/4, /*workers=*/2, /*worker=*/1);
  EXPECT_EQ(worker.localReplicas, 2);
  EXPECT_EQ(worker.getReplicaDevice(1), "CPU:1");
}

TEST(StrategyAttributes,
     WhatBelongsToVariablesLivesWithTheFirstOneOfASingleCopy) {
  const Names variables = {"w", "b", "scale"}; // [1.3-devices]
  auto mirrored = StrategyAttributes::of(Kind::Mirrored, 2, 1, 0);
  EXPECT_EQ(mirrored.nonSlotDevices, (Names{"CPU:0", "CPU:1"}));
  EXPECT_FALSE(mirrored.getNonSlotVariable(variables));
  for (Kind kind : {Kind::CentralStorage, Kind::ParameterServer,
                    Kind::ParameterServerSync}) {
    auto owned = StrategyAttributes::of(kind, 1, 1, 0); // [4-non-slot-devices]
    EXPECT_FALSE(owned.nonSlotDevices);
    EXPECT_EQ(owned.getNonSlotVariable(variables), "b");
    EXPECT_FALSE(owned.getNonSlotVariable({}));
  }
}

} // namespace

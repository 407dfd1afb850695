//===- RateFitTest.cpp ----------------------------------------------------===//

#include "tools/lockstep-benchmark/RateFit.h"

#include "runtime/model/CostModel.h"

#include "gtest/gtest.h"

using namespace lockstep::runtime;
using namespace lockstep::tools;

namespace {

Topology fourCores() {
  Topology topology;
  topology.reducesOnCompute = true;
  topology.cores = 4;
  topology.cacheBytes = 1 << 20;
  topology.memoryBytesPerSecond = 5e10;
  return topology;
}

/// Kernels of all kinds, and the times that the model gives them.
StepSample stepOn(const Topology &topology) {
  StepSample step = {.replicas = 4};
  for (uint64_t bytes : {100, 10'000, 500'000, 5'000'000, 50'000'000})
    for (uint64_t flopsPerByte : {0, 1, 100})
      for (bool isOnce : {false, true}) {
        KernelSample kernel;
        kernel.bytes = bytes;
        kernel.flops = bytes * flopsPerByte;
        kernel.shape.isOnce = isOnce;
        ComputeRates rates =
            SharedCores(topology, step.replicas).rates(kernel.shape, bytes);
        kernel.seconds = kernelSeconds(rates, kernel.flops, bytes);
        step.kernels.push_back(kernel);
      }
  return step;
}

TEST(RateFit, FindsTheRatesOfTheModel) {
  Topology machine = fourCores();
  machine.compute = {
      .flopsPerSecond = 7e10, .bytesPerSecond = 2e10, .launchSeconds = 3e-8};
  machine.cacheBytesPerSecond = 9e10;
  std::vector<StepSample> steps = {stepOn(machine)};
  Topology found = fourCores();
  fitRates(steps, found);
  EXPECT_NEAR(found.compute.flopsPerSecond / 7e10, 1, 0.02);
  EXPECT_NEAR(found.compute.bytesPerSecond / 2e10, 1, 0.02);
  EXPECT_NEAR(found.cacheBytesPerSecond / 9e10, 1, 0.02);
  EXPECT_NEAR(found.compute.launchSeconds / 3e-8, 1, 0.05);
}

// One kernel that is twenty times as slow as its operations.
TEST(RateFit, IsNotMisledByOneKernel) {
  Topology machine = fourCores();
  machine.compute = {
      .flopsPerSecond = 7e10, .bytesPerSecond = 2e10, .launchSeconds = 3e-8};
  machine.cacheBytesPerSecond = 9e10;
  std::vector<StepSample> steps = {stepOn(machine)};
  steps[0].kernels.push_back(steps[0].kernels[10]);
  steps[0].kernels.back().seconds *= 20;
  Topology found = fourCores();
  fitRates(steps, found);
  EXPECT_NEAR(found.compute.flopsPerSecond / 7e10, 1, 0.05);
  EXPECT_NEAR(found.compute.bytesPerSecond / 2e10, 1, 0.05);
  EXPECT_NEAR(found.cacheBytesPerSecond / 9e10, 1, 0.05);
}

std::vector<CollectiveTime> collectives(const CollectiveRates &rates) {
  std::vector<CollectiveTime> times;
  for (uint32_t replicas : {2, 4, 8})
    for (uint64_t bytes : {4, 4096, 1 << 20})
      times.push_back({replicas, bytes, rates.seconds(replicas, bytes)});
  return times;
}

TEST(RateFit, FindsTheRatesOfCollectives) {
  for (CollectiveRates expected :
       {CollectiveRates{1e-6, 1e-7, 1e-11}, CollectiveRates{0, 1e-7, 1e-11},
        CollectiveRates{1e-6, 0, 1e-11}, CollectiveRates{1e-6, 1e-7, 0}}) {
    CollectiveRates found = fitCollectives(collectives(expected));
    EXPECT_NEAR(found.latency, expected.latency, 1e-12);
    EXPECT_NEAR(found.perReplica, expected.perReplica, 1e-13);
    EXPECT_NEAR(found.perByte, expected.perByte, 1e-17);
  }
}

// Noise makes no rate negative.
TEST(RateFit, KeepsRatesOfCollectivesPositive) {
  std::vector<CollectiveTime> times = {
      {2, 4, 2e-6}, {4, 4, 1e-6}, {8, 4, 1e-6}, {2, 4096, 1e-6}};
  CollectiveRates found = fitCollectives(times);
  EXPECT_GT(found.latency, 0);
  EXPECT_EQ(found.perReplica, 0);
  EXPECT_EQ(found.perByte, 0);
  EXPECT_EQ(fitCollectives({}).latency, 0);
}

// The link that has made the times, which differ by a part of them.
TEST(FitLink, isFound) {
  Topology devices;
  devices.levels = {
      {.name = "", .link = {.latency = 7e-6, .secondsPerByte = 1 / 2e11}}};
  std::vector<CollectiveTime> times;
  double noise = 1.02;
  for (uint32_t replicas : {2, 4, 8})
    for (uint64_t bytes : {4, 4 << 10, 512 << 10, 16 << 20, 64 << 20}) {
      double seconds = collectiveSeconds(
          devices, lockstep::artifact::CollectiveKind::all_reduce, replicas,
          bytes);
      times.push_back({replicas, bytes, seconds * noise});
      noise = 1 / noise;
    }
  times.push_back({2, 4, 0});
  Link found = fitLink(times);
  EXPECT_NEAR(found.latency, 7e-6, 0.03 * 7e-6);
  EXPECT_NEAR(found.secondsPerByte, 1 / 2e11, 0.03 / 2e11);
}

} // namespace

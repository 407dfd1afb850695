//===- SimulatorTest.cpp --------------------------------------------------===//

#include "runtime/simulator/Simulator.h"

#include "TestProgram.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

namespace artifact = lockstep::artifact;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

/// Kernels of 1 flop/s, one message of 1 s and 1 s per byte: seconds are
/// counts.
Topology countingTopology() {
  Topology topology;
  topology.name = "counting";
  topology.compute = {
      .flopsPerSecond = 1, .bytesPerSecond = 1e18, .launchSeconds = 0};
  topology.levels = {{"wire", 0, {1, 1}}};
  return topology;
}

/// The seconds of an all_reduce of `bytes` between `members` on it.
double exchange(uint64_t members, uint64_t bytes) {
  return trafficOf(CollectiveKind::all_reduce, members, bytes).seconds({1, 1});
}

/// A step of `nothing` kernels and all-reduces.
class Step {
public:
  explicit Step(uint32_t replicas) : program(replicas) {
    program.writer.tables.kernels[0]->flops = 0;
    operand = program.buffer(Space::replica, ElementType::f32, {1});
    result = program.buffer(Space::replica, ElementType::f32, {1});
  }

  /// A kernel of this many seconds: a symbol of its own for each.
  void kernel(uint64_t seconds) {
    program.launch("nothing", {}, {});
    kernels.push_back(seconds);
  }
  uint32_t start() {
    uint32_t channel = program.channel();
    program.start(CollectiveKind::all_reduce, Reduction::sum, channel,
                  {operand}, {result});
    return channel;
  }

  /// The artifact, with one kernel for each launch.
  std::shared_ptr<const Artifact> finish() {
    program.ret();
    auto &all = program.writer.tables.kernels;
    size_t launched = 0;
    for (auto &command : program.program->commands)
      if (auto *launch = command->body.AsLaunch()) {
        auto kernel = std::make_unique<artifact::KernelT>(*all[launch->kernel]);
        kernel->symbol = "kernel" + std::to_string(launched);
        kernel->code = "nothing";
        kernel->flops = kernels[launched++];
        launch->kernel = uint32_t(all.size());
        all.push_back(std::move(kernel));
      }
    return program.artifact({.allowUnproven = true});
  }

  TestProgram program;
  uint32_t operand, result;
  std::vector<uint64_t> kernels;
};

SimulationResult simulateStep(Step &step, const SimulationOptions &options = {},
                              const Topology &topology = countingTopology()) {
  Expected<SimulationResult> result =
      simulate(*step.finish(), topology, options);
  EXPECT_TRUE(result) << result.status().message();
  return result ? std::move(*result) : SimulationResult();
}

TEST(Simulator, AddsKernels) {
  Step step(2);
  step.kernel(3);
  step.kernel(4);
  SimulationResult result = simulateStep(step);
  EXPECT_DOUBLE_EQ(result.seconds, 7);
  EXPECT_DOUBLE_EQ(result.compute, 7);
  EXPECT_EQ(result.communication, 0);
  EXPECT_EQ(result.kernels, 2u);
}

TEST(Simulator, HidesACollectiveBehindKernels) {
  double transfer = exchange(2, 4);
  Step step(2);
  step.kernel(1);
  uint32_t channel = step.start();
  step.kernel(100);
  step.program.wait(channel);
  step.kernel(1);
  SimulationResult result = simulateStep(step);
  EXPECT_DOUBLE_EQ(result.seconds, 102);
  EXPECT_DOUBLE_EQ(result.communication, transfer);
  EXPECT_EQ(result.exposed, 0);
  EXPECT_EQ(result.exchangedBytes, 4u);
  EXPECT_EQ(result.collectives, 1u);
}

/// Two collectives that start together: on one stream, one follows the other;
/// on several ones, only their bytes do.
TEST(Simulator, OverlapsLatenciesOfStreams) {
  double transfer = exchange(2, 4), latency = exchange(2, 0);
  ASSERT_GT(latency, 0);
  auto simulateOn = [](const Topology &topology, uint64_t streams,
                       size_t count) {
    Step step(2);
    step.kernel(1);
    std::vector<uint32_t> channels;
    for (size_t i = 0; i < count; ++i)
      channels.push_back(step.start());
    for (uint32_t channel : channels)
      step.program.wait(channel);
    return simulateStep(step, {.streams = streams}, topology);
  };
  auto simulateWith = [&](uint64_t streams, size_t count) {
    return simulateOn(countingTopology(), streams, count);
  };
  SimulationResult one = simulateWith(1, 2);
  EXPECT_DOUBLE_EQ(one.seconds, 1 + 2 * transfer);
  SimulationResult two = simulateWith(2, 2);
  EXPECT_DOUBLE_EQ(two.seconds, 1 + 2 * transfer - latency);
  EXPECT_DOUBLE_EQ(two.communication, 2 * transfer - latency);
  ASSERT_EQ(two.lanes.size(), 3u);
  EXPECT_EQ(two.lanes[1].name, "link, stream 0");
  EXPECT_EQ(two.lanes[2].name, "link, stream 1");
  double critical = 0;
  for (const CriticalCommand &part : two.criticalPath)
    critical += part.seconds;
  EXPECT_DOUBLE_EQ(critical, two.seconds);
  // The third one begins when the first one has ended.
  double bytes = transfer - latency;
  EXPECT_DOUBLE_EQ(simulateWith(2, 3).seconds,
                   1 + transfer + std::max(latency, bytes) + bytes);
  EXPECT_DOUBLE_EQ(simulateWith(3, 3).seconds, 1 + latency + 3 * bytes);
  // The option has precedence over the topology.
  Topology ofThree = countingTopology();
  ofThree.streams = 3;
  EXPECT_EQ(simulateOn(ofThree, 0, 3).lanes.size(), 4u);
  EXPECT_DOUBLE_EQ(simulateOn(ofThree, 0, 3).seconds, 1 + latency + 3 * bytes);
  EXPECT_EQ(simulateOn(ofThree, 2, 3).lanes.size(), 3u);
  EXPECT_DOUBLE_EQ(
      simulateOn(ofThree, 0, 3).leastSeconds(),
      std::max({1., latency + 3 * bytes, (3 * latency + 3 * bytes) / 3}));
  EXPECT_TRUE(isLinkLane(linkLaneName(2, 3)));
  EXPECT_TRUE(isLinkLane(linkLaneName(0, 1)));
  EXPECT_FALSE(isLinkLane("replica 0"));
}

TEST(Simulator, ExposesWhatNoKernelHides) {
  double transfer = exchange(4, 4);
  Step step(4);
  step.kernel(1);
  uint32_t channel = step.start();
  step.kernel(2);
  step.program.wait(channel);
  SimulationResult result = simulateStep(step);
  EXPECT_DOUBLE_EQ(result.seconds, 1 + transfer);
  EXPECT_DOUBLE_EQ(result.exposed, transfer - 2);
  // The second kernel is not on the critical path.
  ASSERT_EQ(result.criticalPath.size(), 2u);
  EXPECT_EQ(result.criticalPath[0].name, "all_reduce sum channel 0");
  EXPECT_DOUBLE_EQ(result.criticalPath[0].seconds, transfer);
  EXPECT_EQ(result.criticalPath[1].name, "kernel0");
}

TEST(Simulator, TransfersOneCollectiveAtATime) {
  Step step(2);
  uint32_t first = step.start(), second = step.start();
  step.program.wait(first);
  step.program.wait(second);
  SimulationResult result = simulateStep(step);
  EXPECT_DOUBLE_EQ(result.seconds, 2 * exchange(2, 4));
}

TEST(Simulator, CountsReplicasOfTheOption) {
  for (uint64_t replicas : {1, 2, 100, 100000}) {
    Step step(2);
    step.program.wait(step.start());
    SimulationResult result = simulateStep(step, {.replicas = replicas});
    EXPECT_EQ(result.replicas, replicas);
    EXPECT_DOUBLE_EQ(result.seconds, exchange(replicas, 4));
  }
}

TEST(Simulator, WaitsForASlowReplica) {
  Step step(4);
  step.kernel(10);
  step.program.wait(step.start());
  SimulationResult result = simulateStep(step, {.slowdown = 3});
  EXPECT_DOUBLE_EQ(result.seconds, 30 + exchange(4, 4));
  EXPECT_DOUBLE_EQ(result.exposed, 20 + exchange(4, 4));
  EXPECT_DOUBLE_EQ(result.compute, 30);
}

TEST(Simulator, WaitsForAReplicaThatBeginsLater) {
  Step step(3);
  step.kernel(10);
  step.program.wait(step.start());
  SimulationResult result = simulateStep(step, {.delay = 5});
  EXPECT_DOUBLE_EQ(result.seconds, 15 + exchange(3, 4));
}

TEST(Simulator, OfOneReplicaThatIsSlow) {
  Step step(1);
  step.kernel(10);
  EXPECT_DOUBLE_EQ(simulateStep(step, {.delay = 1, .slowdown = 2}).seconds, 21);
}

// What is hidden does not depend on how late a replica is.
TEST(Simulator, CountsOnlyTransfersAsExposedCommunication) {
  Step step(2);
  step.kernel(10);
  uint32_t channel = step.start();
  step.kernel(100);
  step.program.wait(channel);
  SimulationResult result = simulateStep(step, {.delay = 1000});
  EXPECT_DOUBLE_EQ(result.exposed, 900 + exchange(2, 4));
  EXPECT_DOUBLE_EQ(result.hidden, 0);
  Step same(2);
  same.kernel(10);
  channel = same.start();
  same.kernel(100);
  same.program.wait(channel);
  EXPECT_DOUBLE_EQ(simulateStep(same).hidden, exchange(2, 4));
}

TEST(Simulator, ExecutesBarriersAndSharedSections) {
  Topology topology = countingTopology();
  topology.reducesOnCompute = true;
  topology.cores = 2;
  Step step(4);
  step.program.barrier(step.program.channel());
  step.program.once(step.program.channel());
  step.kernel(8);
  step.program.endOnce();
  // 1 s for the barrier and for the arrival of all; then one core executes the
  // kernel, which has one tile.
  EXPECT_DOUBLE_EQ(simulateStep(step, {}, topology).seconds, 1 + 1 + 8);
  Step failing(4);
  failing.program.barrier(failing.program.channel());
  EXPECT_EQ(simulateStep(failing, {.failingChannel = 0}).failure,
            "replica 3 stops; replicas 0 to 2 wait for it at barrier channel 0 "
            "(train.py:42)");
}

TEST(Simulator, ReportsWhoWaitsForAReplicaThatFails) {
  Step step(4);
  step.program.wait(step.start());
  step.kernel(1);
  step.program.wait(step.start());
  SimulationResult result = simulateStep(step, {.failingChannel = 1});
  EXPECT_EQ(result.failure,
            "replica 3 stops; replicas 0 to 2 wait for it at wait channel 1 "
            "(train.py:42)");
}

TEST(Simulator, ExecutesLoopsOfKnownTripCounts) {
  Step step(2);
  TestProgram &program = step.program;
  uint32_t i = program.reg(), end = program.reg(), one = program.reg();
  program.setRegister(i, 0);
  program.setRegister(end, 5);
  program.setRegister(one, 1);
  uint32_t head = program.branchGreaterEqual(i, end);
  step.kernel(2);
  program.wait(step.start());
  program.addRegister(i, one);
  program.jump(head);
  program.patch(head);
  SimulationResult result = simulateStep(step);
  EXPECT_DOUBLE_EQ(result.seconds, 5 * (2 + exchange(2, 4)));
  EXPECT_TRUE(result.assumptions.empty());
  EXPECT_EQ(result.criticalPath.front().executions, 5u);
}

TEST(Simulator, TakesBothSidesOfABranchOnDataInTurn) {
  Step step(2);
  TestProgram &program = step.program;
  uint32_t condition = program.buffer(Space::shared, ElementType::i1, {});
  uint32_t branch = program.branchUnless(condition);
  step.kernel(7);
  program.patch(branch);
  SimulationResult result = simulateStep(step);
  EXPECT_DOUBLE_EQ(result.seconds, 7);
  EXPECT_EQ(result.assumptions.size(), 1u);
}

TEST(Simulator, OfOneProcessSharesTheCores) {
  Topology topology = countingTopology();
  topology.reducesOnCompute = true;
  topology.cores = 2;
  Step step(4);
  step.kernel(10);
  step.program.wait(step.start());
  SimulationResult result = simulateStep(step, {}, topology);
  // 4 replicas on 2 cores; the all_reduce reads 16 bytes and writes 4.
  EXPECT_DOUBLE_EQ(result.seconds, 20 + 1 + 20);
}

TEST(Simulator, OfOneProcessAddsWhatAStepAndARendezvousTake) {
  Topology topology = countingTopology();
  topology.reducesOnCompute = true;
  topology.cores = 2;
  topology.stepSeconds = 100;
  topology.rendezvousSeconds = 1000;
  Step step(2);
  step.kernel(10);
  step.program.wait(step.start());
  SimulationResult result = simulateStep(step, {}, topology);
  EXPECT_DOUBLE_EQ(result.seconds, 100 + 10 + (1 + 12 + 2 * 1000));
}

// On a device of its own, copies are not launched by the host.
TEST(Simulator, CountsCopiesOfOneProcessAsCommands) {
  for (bool isOneProcess : {false, true}) {
    Topology topology = countingTopology();
    topology.reducesOnCompute = isOneProcess;
    topology.cores = 2;
    topology.compute.bytesPerSecond = 4;
    topology.compute.launchSeconds = 1;
    Step step(4);
    step.program.copy(step.operand, step.result);
    EXPECT_DOUBLE_EQ(simulateStep(step, {}, topology).seconds,
                     isOneProcess ? 2 * (2 + 1) : 2);
  }
}

TEST(Simulator, WritesATraceWithTheLanesOfARealOne) {
  Step step(2);
  step.kernel(1);
  step.program.wait(step.start());
  std::shared_ptr<const Artifact> artifact = step.finish();
  Expected<SimulationResult> result =
      simulate(*artifact, countingTopology(), {});
  ASSERT_TRUE(result);
  std::string path = testing::TempDir() + "simulated-trace.json";
  ASSERT_TRUE(writeSimulatedTrace(path, *artifact, *result).ok());
  nlohmann::json trace =
      nlohmann::json::parse(std::ifstream(path), nullptr, false);
  std::filesystem::remove(path);
  std::vector<std::string> categories;
  for (const auto &event : trace["traceEvents"])
    if (event["ph"] == "X")
      categories.push_back(event["cat"]);
  EXPECT_EQ(categories,
            (std::vector<std::string>{"kernel", "collective", "wait"}));
}

TEST(Simulator, RefusesWhatItCannotSimulate) {
  Step step(2);
  std::shared_ptr<const Artifact> artifact = step.finish();
  auto errorOf = [&](const Artifact &of, const SimulationOptions &options) {
    return simulate(of, countingTopology(), options).status().message();
  };
  EXPECT_EQ(errorOf(*artifact, {.program = "train"}),
            "program 'train': expected one of main");

  EXPECT_EQ(errorOf(*artifact, {.failingChannel = 7}),
            "channel 7: expected one that program 'main' starts, which has 0");
  EXPECT_EQ(errorOf(*artifact, {.delay = NAN}).find("expected a delay"), 0u);
  EXPECT_EQ(errorOf(*artifact, {.slowdown = INFINITY}).find("expected a delay"),
            0u);

  Step grouped(4);
  uint32_t group = grouped.program.group({1, 3}),
           channel = grouped.program.channel();
  grouped.program.start(CollectiveKind::all_reduce, Reduction::sum, channel,
                        {grouped.operand}, {grouped.result}, group);
  grouped.program.wait(channel);
  EXPECT_EQ(errorOf(*grouped.finish(), {}),
            "group 'part' has 2 of 4 replicas: only collectives of all "
            "replicas can be simulated");

  Step divided(4);
  divided.program.variable("w", ElementType::f32, {2}, /*perReplica=*/true);
  divided.program.writer.tables.variables[0]->whole_shape = {8};
  auto parts = divided.finish();
  EXPECT_EQ(errorOf(*parts, {.replicas = 4}), "");
  EXPECT_EQ(errorOf(*parts, {.replicas = 8}),
            "variable 'w' is divided among 4 replicas: expected that number, "
            "found 8; compile for it, or with --shard-update=off");

  Step endless(2);
  endless.program.jump(endless.program.here());
  EXPECT_EQ(errorOf(*endless.finish(), {}),
            "program 'main': more than 100000000 commands, or 10000000 kernels "
            "and collectives: expected a loop to end");

  Step bounded(2);
  for (uint64_t i = 0; i < 3; ++i)
    bounded.kernel(1);
  auto three = bounded.finish();
  EXPECT_EQ(errorOf(*three, {.maxCommands = 4, .maxEvents = 3}), "");
  EXPECT_EQ(errorOf(*three, {.maxEvents = 2}),
            "program 'main': more than 100000000 commands, or 2 kernels and "
            "collectives: expected a loop to end");
  EXPECT_EQ(errorOf(*three, {.streams = 65}),
            "expected at most 64 streams, found 65");
  EXPECT_EQ(errorOf(*three, {.maxCommands = 3}),
            "program 'main': more than 3 commands, or 10000000 kernels and "
            "collectives: expected a loop to end");

  Step withServer(2);
  withServer.program.role("server");
  withServer.program.ret();
  withServer.program.in("worker");
  EXPECT_EQ(errorOf(*withServer.finish(), {}),
            "programs of several roles cannot be simulated");
}

} // namespace

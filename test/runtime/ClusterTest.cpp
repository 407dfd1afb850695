//===- ClusterTest.cpp - several executors are like one -------------------===//

#include "HangingKernel.h"

#include "runtime/executor/Cluster.h"

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <thread>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

std::unique_ptr<Cluster> clusterOf(TestProgram &p, ClusterOptions options) {
  Expected<std::unique_ptr<Cluster>> cluster =
      Cluster::create(p.artifact(), std::move(options));
  EXPECT_TRUE(cluster.ok()) << cluster.status().message();
  return cluster ? std::move(*cluster) : nullptr;
}

std::string errorOf(TestProgram &p, ClusterOptions options) {
  return Cluster::create(p.artifact(), std::move(options)).status().message();
}

template <typename T> T valueOf(std::span<const std::byte> bytes) {
  T value{};
  EXPECT_EQ(bytes.size(), sizeof(T));
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(T)));
  return value;
}

constexpr unsigned replicaCount = 5;

/// sum = all_reduce(x); w += nothing, w = sum; mine = x + 1 stays with each
/// replica.
void buildMixedStep(TestProgram &p) {
  uint32_t x = p.input("x", ElementType::i64, {});
  uint32_t w = p.variable("w", ElementType::i64, {});
  uint32_t own = p.variable("own", ElementType::i64, {}, /*perReplica=*/true);
  uint32_t mine = p.buffer(Space::replica, ElementType::i64, {});
  uint32_t sum = p.buffer(Space::shared, ElementType::i64, {});
  p.output("sum", sum);
  p.output("mine", mine);
  uint32_t one = p.reg(), channel = p.channel();
  p.setRegister(one, 1);
  p.launch("add_scalar", {x}, {mine}, {one});
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {mine}, {sum});
  p.wait(channel);
  p.copy(mine, own);
  p.once(p.channel());
  p.copy(sum, w);
  p.endOnce();
  p.ret();
}

struct Batch {
  alignas(64) int64_t x;
};

/// Runs on x = first, first + 1, ...
Status runOn(Cluster &cluster, int64_t first) {
  std::array<Batch, replicaCount> batches;
  for (unsigned r = 0; r < replicaCount; ++r) {
    batches[r].x = first + r;
    EXPECT_TRUE(
        cluster
            .bindInput(0, r, reinterpret_cast<const std::byte *>(&batches[r]))
            .ok());
  }
  return cluster.run("main");
}

class ClusterOf
    : public testing::TestWithParam<std::tuple<unsigned, unsigned>> {
protected:
  ClusterOptions options() const {
    return {.session = {.workers = std::get<1>(GetParam())},
            .executors = std::get<0>(GetParam())};
  }
};
INSTANTIATE_TEST_SUITE_P(Executors, ClusterOf,
                         testing::Combine(testing::Values(1, 2, 3, 5),
                                          testing::Values(1, 7)));

// Results, variables and their order do not depend on the executors.
TEST_P(ClusterOf, isLikeOneSession) {
  TestProgram p(replicaCount);
  buildMixedStep(p);
  auto cluster = clusterOf(p, options());
  EXPECT_EQ(cluster->replicas(), replicaCount);
  EXPECT_EQ(cluster->executors().size(), std::get<0>(GetParam()));
  for (int64_t step = 0; step < 20; ++step) {
    ASSERT_TRUE(runOn(*cluster, step * 100).ok());
    int64_t sum = 5 * (step * 100 + 1) + 10;
    for (unsigned r = 0; r < replicaCount; ++r) {
      EXPECT_EQ(valueOf<int64_t>(cluster->output(0, "sum", r)), sum);
      EXPECT_EQ(valueOf<int64_t>(cluster->output(0, "mine", r)),
                step * 100 + r + 1);
      EXPECT_EQ(valueOf<int64_t>(cluster->variable("own", r)->read()),
                step * 100 + r + 1);
      EXPECT_EQ(valueOf<int64_t>(cluster->variable("w", r)->read()), sum);
    }
  }
  EXPECT_EQ(cluster->completedRuns(), 20u);
  ASSERT_EQ(cluster->variables().size(), 2u);
  EXPECT_EQ(cluster->variables()[0].name, "w");
  EXPECT_TRUE(cluster->variables()[1].perReplica);
  EXPECT_FALSE(cluster->variable("v").has_value());
  EXPECT_FALSE(cluster->variable("own", replicaCount).has_value());
  EXPECT_TRUE(cluster->output(0, 0, replicaCount).empty());
  EXPECT_EQ(cluster->bindInput(0, replicaCount, nullptr).message(),
            "program 0 or replica 5 does not exist");
}

// Replicas and threads are divided in blocks, the first ones larger; there is a
// thread for each executor.
TEST(Cluster, dividesRanksAndThreads) {
  TestProgram p(replicaCount);
  buildMixedStep(p);
  auto cluster = clusterOf(p, {.session = {.workers = 7}, .executors = 3});
  std::vector<std::array<unsigned, 3>> found;
  for (const ExecutorInfo &executor : cluster->executors()) {
    EXPECT_EQ(executor.role, "worker");
    found.push_back({executor.firstRank, executor.ranks, executor.workers});
  }
  EXPECT_EQ(found, (std::vector<std::array<unsigned, 3>>{
                       {0, 2, 3}, {2, 2, 2}, {4, 1, 2}}));
  EXPECT_EQ(cluster->workers(), 7u);
  EXPECT_EQ(
      clusterOf(p, {.session = {.workers = 1}, .executors = 4})->workers(), 4u);
}

TEST(Cluster, refusesExecutorsThatDoNotFit) {
  TestProgram p(replicaCount);
  buildMixedStep(p);
  EXPECT_EQ(errorOf(p, {.executors = 6}),
            "expected 1 to 5 executors, at most one for each replica, found 6");
  EXPECT_EQ(
      errorOf(p, {.session = {.injections = {"pause:replica=5,channel=0"}},
                  .executors = 2}),
      "injection 'pause:replica=5,channel=0': replica 5 does not exist among "
      "5");
}

// A copy of a mirrored variable in each executor is written, the first one is
// read.
TEST(Cluster, mirroredVariablesAreWrittenEverywhere) {
  TestProgram p(replicaCount);
  uint32_t w = p.variable("w", ElementType::i64, {});
  uint32_t out = p.buffer(Space::replica, ElementType::i64, {});
  p.copy(w, out);
  p.output("w", out);
  p.ret();
  auto cluster = clusterOf(p, {.session = {.workers = 2}, .executors = 3});
  int64_t value = 42;
  cluster->variable("w")->write(bytesOf(value));
  ASSERT_TRUE(cluster->run("main").ok());
  for (unsigned r = 0; r < replicaCount; ++r)
    EXPECT_EQ(valueOf<int64_t>(cluster->output(0, 0, r)), 42);
}

// An input that is missing in one executor is an error before any executor has
// begun: nothing hangs, and the next run is like the first.
TEST_P(ClusterOf, noneBeginsBeforeAllCan) {
  TestProgram p(replicaCount);
  buildMixedStep(p);
  auto cluster = clusterOf(p, options());
  Batch batch{7};
  for (unsigned r = 0; r + 1 < replicaCount; ++r)
    ASSERT_TRUE(
        cluster->bindInput(0, r, reinterpret_cast<const std::byte *>(&batch))
            .ok());
  EXPECT_EQ(cluster->run("main").code(), StatusCode::invalidArgument);
  EXPECT_FALSE(cluster->poisoned());
  EXPECT_EQ(valueOf<int64_t>(cluster->variable("w")->read()), 0);
  ASSERT_TRUE(runOn(*cluster, 1).ok());
  EXPECT_EQ(valueOf<int64_t>(cluster->output(0, "sum")), 20);
}

// A size that breaks its bound on one replica ends the run of all executors,
// with its own message.
TEST_P(ClusterOf, firstErrorEndsTheRunOfAll) {
  TestProgram p(replicaCount);
  uint32_t x = p.input("x", ElementType::i64, {});
  uint32_t w = p.variable("w", ElementType::i64, {});
  uint32_t rows = p.reg(), channel = p.channel();
  uint32_t bounded = p.dynamicBuffer(Space::replica, ElementType::i64, {-1},
                                     {int32_t(rows)}, 80);
  uint32_t sum = p.buffer(Space::shared, ElementType::i64, {});
  p.loadRegister(rows, x);
  p.launch("nothing", {bounded}, {});
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {x}, {sum});
  p.wait(channel);
  p.once(p.channel());
  p.copy(sum, w);
  p.endOnce();
  p.ret();
  auto cluster = clusterOf(p, options());
  ASSERT_TRUE(runOn(*cluster, 6).ok());
  // x = 7, ..., 11, and there is room for 10.
  Status status = runOn(*cluster, 7);
  EXPECT_EQ(status.code(), StatusCode::outOfRange) << status.message();
  EXPECT_TRUE(cluster->poisoned());
  EXPECT_TRUE(cluster->variablesIntact());
  EXPECT_EQ(valueOf<int64_t>(cluster->variable("w")->read()), 40);
  Status again = runOn(*cluster, 6);
  EXPECT_EQ(again.code(), StatusCode::poisoned);
  EXPECT_EQ(again.message(), "the session was poisoned by an earlier error: " +
                                 status.message());
}

// The text of the report of a missed deadline does not depend on the executors,
// and it is reported once.
TEST_P(ClusterOf, deadlineReportIsAboutAll) {
  FakeClock clock;
  TestProgram p(replicaCount);
  buildMixedStep(p);
  std::atomic<int> reported{0};
  ClusterOptions given = options();
  given.session.clock = &clock;
  given.session.injections = {"pause:replica=3,channel=0"};
  given.session.onDeadline = [&](const DeadlineReport &) { ++reported; };
  auto cluster = clusterOf(p, given);
  Status status;
  std::atomic<bool> over{false};
  std::thread runner([&] {
    status = runOn(*cluster, 0);
    over = true;
    clock.poke();
  });
  // A message that has just been sent wakes an idle worker: only if all are
  // idle twice, none is awake.
  for (unsigned idleSamples = 0; idleSamples < 2 && !over;) {
    idleSamples =
        cluster->idleWorkers() == cluster->workers() ? idleSamples + 1 : 0;
    std::this_thread::yield();
  }
  while (!over)
    clock.advance(10s, [&] { return over.load(); });
  runner.join();
  EXPECT_EQ(status.code(), StatusCode::deadline);
  EXPECT_EQ(reported, 1);
  std::string before =
      "1 'launch 'add_scalar'' (train.py:42), 0 'set_register' (train.py:42)";
  std::string blocked =
      "blocked in command 3 'wait channel 0' (train.py:42)\n"
      "  before that: 2 'start all_reduce sum channel 0' (train.py:42), " +
      before;
  EXPECT_EQ(withoutDevices(status.message()),
            "no replica of program 'main' has made progress for 60 s\n"
            "waiting for channel 0 (all_reduce sum, 8 bytes, train.py:42)\n"
            "  arrived: replicas 0-2, 4\n"
            "  missing: replica 3\n"
            "replica 0: " +
                blocked + "\nreplica 1: " + blocked +
                "\nreplica 2: " + blocked +
                "\nreplica 3: paused by an injected fault before command 2 "
                "'start all_reduce sum channel 0' (train.py:42)\n"
                "  before that: " +
                before + "\nreplica 4: " + blocked);
  nlohmann::json json = nlohmann::json::parse(cluster->deadlineReport().json);
  EXPECT_EQ(json["waits"][0]["missing"], nlohmann::json::array({3}));
  EXPECT_EQ(json["replicas"][3]["state"], "paused");
  EXPECT_EQ(json["replicas"][3]["role"], "worker");
  EXPECT_TRUE(cluster->variablesIntact());
}

// A kernel that hangs in the thread of another executor: the run returns, and
// the cluster can be destroyed while the kernel is running.
TEST(Cluster, threadThatHangsIsAbandoned) {
  Hang *mine = hang = new Hang;
  TestProgram p(2);
  uint32_t isSecond =
      p.variable("is_second", ElementType::i1, {}, /*perReplica=*/true);
  uint32_t branch = p.branchUnless(isSecond);
  callHanging(p);
  p.patch(branch);
  p.barrier(p.channel());
  p.ret();
  auto cluster = clusterOf(
      p, {.session = {.workers = 2, .clock = &mine->clock}, .executors = 2});
  uint8_t yes = 1;
  cluster->variable("is_second", 1)->write(bytesOf(yes));
  Status status;
  std::atomic<bool> over{false};
  std::thread runner([&] {
    status = cluster->run("main");
    over = true;
    mine->clock.poke();
  });
  while (!mine->hangs || cluster->idleWorkers() == 0)
    std::this_thread::yield();
  while (!over)
    mine->clock.advance(10s, [&] { return over.load(); });
  runner.join();
  EXPECT_EQ(status.code(), StatusCode::deadline);
  EXPECT_NE(status.message().find(runningText(1, "1 'launch 'call''")),
            std::string::npos)
      << status.message();
  EXPECT_TRUE(cluster->poisoned());
  cluster.reset();
  EXPECT_FALSE(mine->hasReturned);
  mine->mayReturn = true;
  while (!mine->hasReturned)
    std::this_thread::yield();
}

// One file, a process for each executor, with the replicas that it has.
TEST_P(ClusterOf, traceHasAProcessForEachExecutor) {
  TemporaryFile file("cluster-trace.json");
  const std::string &path = file.path;
  TestProgram p(replicaCount);
  buildMixedStep(p);
  ClusterOptions given = options();
  given.session.traceFile = path;
  auto cluster = clusterOf(p, given);
  ASSERT_TRUE(runOn(*cluster, 0).ok());
  ASSERT_TRUE(cluster->writeTrace().ok());
  nlohmann::json trace = nlohmann::json::parse(std::ifstream(path));
  std::set<int> processes;
  std::set<std::string> tracks, kernels;
  for (const nlohmann::json &event : trace["traceEvents"]) {
    processes.insert(event["pid"].get<int>());
    if (event["name"] == "thread_name")
      tracks.insert(event["args"]["name"]);
    if (event.value("cat", "") == "kernel")
      kernels.insert(std::to_string(event["pid"].get<int>()) + "." +
                     std::to_string(event["tid"].get<int>()));
  }
  EXPECT_EQ(processes.size(), cluster->executors().size());
  // Of a device that executes collectives.
  tracks.erase("collectives");
  EXPECT_EQ(tracks,
            (std::set<std::string>{"replica 0", "replica 1", "replica 2",
                                   "replica 3", "replica 4"}));
  EXPECT_EQ(kernels.size(), replicaCount);
}

// Batches are counted over all executors.
TEST(Cluster, replicasHaveAsManyBatches) {
  TestProgram p(2);
  p.input("x", ElementType::i64, {});
  p.next();
  p.ret();
  auto cluster = clusterOf(p, {.session = {.workers = 2}, .executors = 2});
  Batch batch{1};
  auto *base = reinterpret_cast<const std::byte *>(&batch);
  ASSERT_TRUE(cluster->bindBatches(0, 0, {base, base}).ok());
  ASSERT_TRUE(cluster->bindBatches(0, 1, {base}).ok());
  EXPECT_EQ(cluster->run("main").message(),
            "program 'main': replica 1 has 1 batches, but replica 0 has 2");
  ASSERT_TRUE(cluster->bindBatches(0, 1, {base, base}).ok());
  EXPECT_TRUE(cluster->run("main").ok());
}

//===----------------------------------------------------------------------===//
// Servers
//===----------------------------------------------------------------------===//

/// Workers pull the rows of "table" (5x2) from two servers, which then replace
/// them by the sum of the workers' "mine".
void buildServers(TestProgram &p, uint32_t replicas) {
  constexpr int64_t rows[] = {3, 2};
  uint32_t mine[2], pulled[2], pull[2], push[2], group[2];
  for (int s = 0; s < 2; ++s)
    mine[s] = p.variable(s ? "mine1" : "mine0", ElementType::f32, {rows[s], 2},
                         /*perReplica=*/true);
  std::vector<uint32_t> workers(replicas);
  std::iota(workers.begin(), workers.end(), 0u);
  int64_t firstRow = 0;
  for (int s = 0; s < 2; ++s) {
    uint32_t rank = p.role(s ? "server1" : "server0");
    std::vector<uint32_t> members = workers;
    members.push_back(rank);
    group[s] = p.group(members);
    uint32_t shard =
        p.variable(s ? "table/1" : "table/0", ElementType::f32, {rows[s], 2});
    artifact::VariableT &variable = *p.writer.tables.variables.back();
    variable.shard = std::make_unique<artifact::ShardT>();
    variable.shard->of = "table";
    variable.shard->first_row = uint64_t(firstRow);
    variable.shard->rows = 5;
    firstRow += rows[s];
    uint32_t gradient =
        p.buffer(Space::replica, ElementType::f32, {rows[s], 2});
    pull[s] = p.channel(uint32_t(2 * s)),
    push[s] = p.channel(uint32_t(2 * s + 1));
    p.start(CollectiveKind::broadcast, Reduction::none, pull[s], {shard}, {},
            group[s], 0, int32_t(rank));
    p.wait(pull[s]);
    p.start(CollectiveKind::reduce, Reduction::sum, push[s], {}, {gradient},
            group[s], 0, int32_t(rank));
    p.wait(push[s]);
    p.once(p.channel(uint32_t(4 + s)));
    p.copy(gradient, shard);
    p.endOnce();
    p.ret();
  }
  p.in("worker");
  for (int s = 0; s < 2; ++s) {
    auto root = int32_t(replicas + unsigned(s));
    pulled[s] = p.buffer(Space::replica, ElementType::f32, {rows[s], 2});
    p.output(s ? "pulled1" : "pulled0", pulled[s]);
    p.start(CollectiveKind::broadcast, Reduction::none, p.channel(pull[s]), {},
            {pulled[s]}, group[s], 0, root);
    p.wait(pull[s]);
    p.start(CollectiveKind::reduce, Reduction::sum, p.channel(push[s]),
            {mine[s]}, {}, group[s], 0, root);
    p.wait(push[s]);
  }
  p.ret();
}

// A sharded variable is one tensor; servers are executors of their own; faults
// name them by rank.
TEST_P(ClusterOf, shardsAreOneVariable) {
  TestProgram p(replicaCount);
  buildServers(p, replicaCount);
  auto cluster = clusterOf(p, options());
  ASSERT_EQ(cluster->executors().size(), std::get<0>(GetParam()) + 2);
  EXPECT_EQ(cluster->executors().back().role, "server1");
  EXPECT_EQ(cluster->executors().back().firstRank, 6u);

  auto table =
      std::ranges::find(cluster->variables(), "table", &VariableInfo::name);
  ASSERT_NE(table, cluster->variables().end());
  EXPECT_EQ(table->type.shape, (std::vector<int64_t>{5, 2}));
  EXPECT_EQ(table->type.bytes, 40u);
  EXPECT_EQ(cluster->variables().size(), 3u);
  std::array<float, 10> values;
  std::iota(values.begin(), values.end(), 1.0f);
  VariableValue value = *cluster->variable("table");
  ASSERT_EQ(value.pieces().size(), 2u);
  value.write(bytesOf(values));
  for (unsigned r = 0; r < replicaCount; ++r) {
    std::array<float, 6> first;
    std::array<float, 4> second;
    first.fill(float(r));
    second.fill(float(10 * r));
    cluster->variable("mine0", r)->write(bytesOf(first));
    cluster->variable("mine1", r)->write(bytesOf(second));
  }
  ASSERT_EQ(cluster->programs().size(), 1u);
  EXPECT_EQ(cluster->programs()[0].outputs.size(), 2u);
  ASSERT_TRUE(cluster->run("main").ok());
  for (unsigned r = 0; r < replicaCount; ++r) {
    EXPECT_EQ((valueOf<std::array<float, 6>>(cluster->output(0, "pulled0", r))),
              (std::array<float, 6>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ((valueOf<std::array<float, 4>>(cluster->output(0, "pulled1", r))),
              (std::array<float, 4>{7, 8, 9, 10}));
  }
  EXPECT_EQ(
      (valueOf<std::array<float, 10>>(value.read())),
      (std::array<float, 10>{10, 10, 10, 10, 10, 10, 100, 100, 100, 100}));
}

} // namespace

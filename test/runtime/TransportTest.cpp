//===- TransportTest.cpp - transports by name, over several processes -----===//

#include "FakeClock.h"
#include "MemoryWire.h"
#include "TestProgram.h"

#include "runtime/executor/Cluster.h"
#include "runtime/support/Plugin.h"
#include "runtime/transport/TransportFactory.h"
#include "runtime/transport/exchange/ExchangeFactory.h"
#include "runtime/transport/local/LocalNetwork.h"
#include "runtime/transport/wire/WireFactory.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

namespace lockstep::runtime::test {
namespace {

TEST(OpenTransport, namesThatAreNone) {
  auto error = [](std::string_view name) {
    return openTransport(name).status().message();
  };
  EXPECT_EQ(error("threads:2"), "transport 'threads' has no options, found "
                                "'2'");
  EXPECT_EQ(error("a b"),
            "expected the name of a transport in small letters, found 'a b'");
  EXPECT_NE(
      error("nothing").find("transport 'nothing': expected 'threads' or the "
                            "name of a plugin, looked for '"),
      std::string::npos)
      << error("nothing");
  // A plugin, but of another kind.
  EXPECT_NE(
      error("simulated").find(": does not define 'lockstepOpenTransport'"),
      std::string::npos)
      << error("simulated");
}

TEST(OpenTransport, pluginsOfAnotherVersion) {
  auto error = [](std::string_view name) {
    std::string message = openTransport(name).status().message();
    return message.substr(message.rfind(": ") + 2);
  };
  std::string expected =
      fmt::format("expected a plugin for version {} of the interface, found ",
                  pluginVersion);
  EXPECT_EQ(error("outdated"), expected + "one for version 0");
  EXPECT_EQ(error("unversioned"), expected + "a library without version");
}

TEST(OpenTransport, slowHasALink) {
  auto error = [](std::string_view name) {
    return openTransport(name).status().message();
  };
  for (const char *options :
       {"", "1e-6", "0,1e9", "1e-6,-1", "1e-6,1e9,0", "1.5.5", "1e-6,1e9,",
        "1e-6,1e9,2,", "1e-6,1e9,2,0", "1e-6,1e9,2,1025", "1e-6,1e9,2,4,1",
        "1e-6,1e9,-1", "inf,1", "1,nan", "1e-6,1e-320"})
    EXPECT_EQ(error(fmt::format("slow:{}", options)),
              fmt::format("transport 'slow:{0}': expected "
                          "'slow:LATENCY,BANDWIDTH' with positive seconds and "
                          "bytes per second, and optionally ',EXECUTORS' of "
                          "each host and ',STREAMS' of the link, at most 1024, "
                          "found 'slow:{0}'",
                          options));
  EXPECT_EQ((*openTransport("slow:1e-6,1e9"))->name(), "slow:1e-6,1e9");
  EXPECT_TRUE(openTransport("slow:1e-6,1e9,1,1024"));
  std::vector<std::shared_ptr<Network>> endpoints =
      *(*openTransport("slow:1e-6,1e9,2"))
           ->connect({{0, 1}, {1, 1}, {2, 1}}, {0, 0, 0});
  EXPECT_TRUE(std::ranges::equal(endpoints[0]->hosts(),
                                 std::array<uint32_t, 3>{0, 0, 1}));
}

TEST(OpenTransport, threadsIsTheDefault) {
  std::shared_ptr<TransportFactory> transport = *openTransport("threads");
  EXPECT_EQ(transport->name(), "threads");
  if (!std::getenv("LOCKSTEP_TRANSPORT"))
    EXPECT_EQ(transport, *openTransport(""));
  EXPECT_EQ(transport->capabilities(),
            (TransportCapabilities{.acceptsDeviceMemory = false,
                                   .isInOrder = true,
                                   .isBitIdentical = true}));
}

/// The transport of one of several processes, which here are threads.
std::shared_ptr<TransportFactory>
transportOf(const std::shared_ptr<WireThread> &thread) {
  return std::make_shared<WireFactory>("processes", thread);
}

constexpr unsigned replicaCount = 5;

/// sum = all_reduce(x); w = sum; own = x.
void build(TestProgram &p) {
  uint32_t x = p.input("x", ElementType::i64, {});
  uint32_t w = p.variable("w", ElementType::i64, {});
  uint32_t own = p.variable("own", ElementType::i64, {}, /*perReplica=*/true);
  uint32_t sum = p.buffer(Space::shared, ElementType::i64, {});
  p.output("sum", sum);
  uint32_t channel = p.channel();
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {x}, {sum});
  p.wait(channel);
  p.copy(x, own);
  p.once(p.channel());
  p.copy(sum, w);
  p.endOnce();
  p.ret();
}

struct Batch {
  alignas(64) int64_t x;
};

int64_t numberIn(std::span<const std::byte> bytes) {
  int64_t value = -1;
  if (bytes.size() == sizeof value)
    std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// Three executors with replicas 0-1, 2-3 and 4. The first process has two of
/// them.
struct TwoProcesses {
  TwoProcesses() {
    build(program);
    std::shared_ptr<const Artifact> artifact = program.artifact();
    for (const auto &thread : processes.threads) {
      Expected<std::unique_ptr<Cluster>> cluster = Cluster::create(
          artifact,
          {.session = {.transport = transportOf(thread), .workers = 2},
           .executors = 3});
      EXPECT_TRUE(cluster.ok()) << cluster.status().message();
      clusters.push_back(std::move(*cluster));
    }
    for (unsigned r = 0; r < replicaCount; ++r)
      for (const auto &cluster : clusters)
        if (cluster->hasReplica(r))
          EXPECT_TRUE(
              cluster
                  ->bindInput(0, r, reinterpret_cast<std::byte *>(&batches[r]))
                  .ok());
  }

  std::array<Status, 2> run(int64_t first) {
    for (unsigned r = 0; r < replicaCount; ++r)
      batches[r].x = first + r;
    return inBoth([](Cluster &cluster) { return cluster.run("main"); });
  }

  /// Calls a function for both at the same time.
  std::array<Status, 2>
  inBoth(const std::function<Status(Cluster &)> &function) {
    std::array<Status, 2> statuses;
    std::thread other([&] { statuses[1] = function(*clusters[1]); });
    statuses[0] = function(*clusters[0]);
    other.join();
    return statuses;
  }

  TestProgram program{replicaCount};
  MemoryProcesses processes{2, 1};
  std::array<Batch, replicaCount> batches{};
  std::vector<std::unique_ptr<Cluster>> clusters;
};

TEST(ClusterOfSeveralProcesses, computesWhatOneProcessDoes) {
  TwoProcesses processes;
  for (int64_t step = 0; step < 20; ++step) {
    for (const Status &status : processes.run(step * 100))
      ASSERT_TRUE(status.ok()) << status.message();
    for (const auto &cluster : processes.clusters) {
      EXPECT_EQ(numberIn(cluster->variable("w")->read()), 500 * step + 10);
      for (unsigned r = 0; r < replicaCount; ++r) {
        if (!cluster->hasReplica(r))
          continue;
        EXPECT_EQ(numberIn(cluster->output(0, "sum", r)), 500 * step + 10);
        EXPECT_EQ(numberIn(cluster->variable("own", r)->read()),
                  step * 100 + r);
      }
    }
  }
}

TEST(ClusterOfSeveralProcesses, knowsWhatIsElsewhere) {
  TwoProcesses processes;
  const Cluster &first = *processes.clusters[0];
  EXPECT_FALSE(first.isWhole());
  EXPECT_EQ(first.replicas(), replicaCount);
  std::vector<bool> isHere;
  std::vector<unsigned> workers;
  for (const ExecutorInfo &executor : first.executors()) {
    isHere.push_back(executor.isHere);
    workers.push_back(executor.workers);
  }
  EXPECT_EQ(isHere, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(workers, (std::vector<unsigned>{1, 1, 0}));
  EXPECT_EQ(first.replicasHere(), (RankRange{0, 4}));
  EXPECT_EQ(processes.clusters[1]->replicasHere(), (RankRange{4, 1}));
  EXPECT_TRUE(first.hasReplica(3));
  EXPECT_FALSE(first.hasReplica(4));
  EXPECT_FALSE(first.hasReplica(replicaCount));
  EXPECT_EQ(processes.clusters[0]->bindInput(0, 4, nullptr).message(),
            "replica 4 is executed in another process");
}

// The first process gets what the replicas of others hold, on request; the
// others do not keep it.
TEST(ClusterOfSeveralProcesses, collectsValues) {
  TwoProcesses processes;
  for (const Status &status : processes.run(7))
    ASSERT_TRUE(status.ok()) << status.message();
  Cluster &first = *processes.clusters[0], &second = *processes.clusters[1];
  EXPECT_EQ(numberIn(first.variable("own", 4)->read()), 0);
  for (const Status &status : processes.inBoth(
           [](Cluster &cluster) { return cluster.collectVariables(); }))
    ASSERT_TRUE(status.ok()) << status.message();
  for (unsigned r = 0; r < replicaCount; ++r)
    EXPECT_EQ(numberIn(first.variable("own", r)->read()), 7 + r);
  int64_t value = 3;
  second.variable("own", 0)->write(std::as_bytes(std::span(&value, 1)));
  EXPECT_EQ(second.variable("own", 0)->size(), sizeof value);
  EXPECT_EQ(numberIn(first.variable("own", 0)->read()), 7);
  // Outputs that are equal on all replicas are known everywhere.
  EXPECT_EQ(numberIn(first.output(0, "sum", 4)), 5 * 7 + 10);
  EXPECT_EQ(numberIn(second.output(0, "sum", 0)), 5 * 7 + 10);
}

TEST(ClusterOfSeveralProcesses, exchangesTexts) {
  TwoProcesses processes;
  for (int round = 0; round < 5; ++round)
    for (const Status &status : processes.inBoth([&](Cluster &cluster) {
           uint32_t own = cluster.place().index;
           auto texts = cluster.exchange("test", "texts",
                                         fmt::format("{}.{}", round, own));
           if (!texts)
             return texts.status();
           EXPECT_EQ(*texts,
                     (std::vector<std::string>{fmt::format("{}.0", round),
                                               fmt::format("{}.1", round)}));
           return Status::success();
         }))
      EXPECT_TRUE(status.ok()) << status.message();
  for (const Status &status : processes.inBoth([](Cluster &cluster) {
         return cluster.requireSame(
             {{"seed", "1"}, {"steps", cluster.place().index ? "3" : "4"}});
       }))
    EXPECT_EQ(status.message(),
              "executors must have the same steps: found '3' in executor 2 "
              "(rank 4), '4' in executor 0 (ranks 0-1)");
}

TEST(ClusterOfSeveralProcesses, endsWhenAnotherProcessAborts) {
  TwoProcesses processes;
  processes.clusters[1]->abort({StatusCode::interrupted, "enough"});
  std::array<Status, 2> statuses = processes.run(0);
  EXPECT_FALSE(statuses[1].ok());
  EXPECT_EQ(statuses[0].message(),
            "executor 2 (rank 4) has aborted the run: enough");
  EXPECT_TRUE(processes.clusters[0]->poisoned());
}

/// One of two processes, each with an executor, without delays between them.
class PairTransport final : public ExchangeFactory {
public:
  using Endpoints = std::vector<std::shared_ptr<Network>>;

  PairTransport(const Endpoints &both, uint32_t index)
      : both(both), index(index) {}

  std::string_view name() const override { return "pair"; }
  ProcessPlace place() const override { return {.index = index, .count = 2}; }
  Expected<Endpoints> connect(std::vector<RankRange> /*executors*/,
                              std::vector<uint32_t> processOf) override {
    EXPECT_EQ(processOf, (std::vector<uint32_t>{0, 1}));
    Endpoints own = both;
    own[1 - index] = nullptr;
    return own;
  }

private:
  const Endpoints &both;
  const uint32_t index;
};

/// Two processes with a replica each.
struct OneReplicaEach {
  explicit OneReplicaEach(TestProgram &p) {
    std::shared_ptr<const Artifact> artifact = p.artifact();
    for (unsigned process : {0, 1})
      clusters.push_back(*Cluster::create(
          artifact, {.session = {.transport = std::make_shared<PairTransport>(
                                     endpoints, process),
                                 .workers = 1,
                                 .clock = &clocks[process]}}));
  }

  std::array<FakeClock, 2> clocks;
  PairTransport::Endpoints endpoints = *LocalNetwork::create({{0, 1}, {1, 1}});
  std::vector<std::unique_ptr<Cluster>> clusters;
};

TEST(ClusterOfSeveralProcesses, hasAnExecutorInEachProcess) {
  auto error = [](unsigned replicas, unsigned executors) {
    TestProgram p(replicas);
    build(p);
    MemoryProcesses processes(3, 0);
    return Cluster::create(
               p.artifact(),
               {.session = {.transport = transportOf(processes.threads[0])},
                .executors = executors})
        .status()
        .message();
  };
  EXPECT_EQ(error(2, 0),
            "expected 1 to 2 processes, at most one for each replica, found 3");
  EXPECT_EQ(error(5, 2),
            "expected 3 to 5 executors, at least one for each process and at "
            "most one for each replica, found 2");
  EXPECT_EQ(error(5, 6),
            "expected 3 to 5 executors, at least one for each process and at "
            "most one for each replica, found 6");
}

TEST(ClusterOfSeveralProcesses, isNotWaitedForIfItCannotBegin) {
  TestProgram p(2);
  build(p);
  OneReplicaEach processes(p);
  Batch batch{7};
  ASSERT_TRUE(processes.clusters[0]
                  ->bindInput(0, 0, reinterpret_cast<std::byte *>(&batch))
                  .ok());
  Status other;
  std::thread thread([&] { other = processes.clusters[1]->run("main"); });
  Status status = processes.clusters[0]->run("main");
  thread.join();
  EXPECT_EQ(other.message(), "program 'main': replica 1 has no input bound");
  EXPECT_EQ(status.message(),
            "executor 1 (rank 1) has aborted the run: program "
            "'main': replica 1 has no input bound");
}

TEST(ClusterOfSeveralProcesses, namesWhoHasNotSaidWhatItRuns) {
  TestProgram p(2);
  build(p);
  FakeClock clock;
  MemoryProcesses processes(2, 3);
  std::unique_ptr<Cluster> cluster = *Cluster::create(
      p.artifact(), {.session = {.transport = transportOf(processes.threads[0]),
                                 .workers = 1,
                                 .clock = &clock}});
  Batch batch{7};
  ASSERT_TRUE(
      cluster->bindInput(0, 0, reinterpret_cast<std::byte *>(&batch)).ok());
  Status status = runWithTime(*cluster, clock, std::chrono::seconds(10),
                              cluster->workers());
  EXPECT_EQ(status.code(), StatusCode::deadline);
  EXPECT_EQ(status.message(),
            "no executor has made progress for 60 s\n"
            "waiting for executors to report their configuration\n"
            "  missing: the executor of rank 1");
}

std::atomic<uint64_t> iterations{0};
/// Devices note their progress after some commands only.
constexpr uint64_t iterationsOfAStep = 100;

// While another process makes progress, no executor misses a deadline.
TEST(ClusterOfSeveralProcesses, isWaitedForWhileItMakesProgress) {
  TestProgram p(2);
  uint32_t isSecond =
      p.variable("is_second", ElementType::i1, {}, /*perReplica=*/true);
  uint32_t branch = p.branchUnless(isSecond);
  uint32_t first = p.call([](void *) { ++iterations; });
  uint32_t loop = p.jump(0);
  p.program->commands[loop]->body.AsJump()->target = first;
  p.patch(branch);
  p.barrier(p.channel());
  p.ret();
  OneReplicaEach processes(p);
  uint8_t yes = 1;
  processes.clusters[1]
      ->variable("is_second", 1)
      ->write(std::as_bytes(std::span(&yes, 1)));
  std::array<Status, 2> statuses;
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (unsigned i : {0, 1})
    threads.emplace_back([&, i] {
      statuses[i] = processes.clusters[i]->run("main");
      over = true;
      for (FakeClock &clock : processes.clocks)
        clock.poke();
    });
  auto isOver = [&] { return over.load(); };
  // 200 s, of which the deadline is 60 s.
  for (int step = 0; step < 20 && !over; ++step) {
    uint64_t before = iterations;
    while (iterations < before + iterationsOfAStep && !over)
      std::this_thread::yield();
    for (unsigned i : {1, 0})
      processes.clocks[i].advance(std::chrono::seconds(10), isOver);
  }
  EXPECT_FALSE(over);
  processes.clusters[1]->abort({StatusCode::interrupted, "enough"});
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(statuses[0].code(), StatusCode::interrupted)
      << statuses[0].message();
}

TEST(ClusterOfSeveralProcesses, hasToAgreeOnTheTransport) {
  TestProgram p(2);
  build(p);
  std::shared_ptr<const Artifact> artifact = p.artifact();
  MemoryProcesses processes(2, 4);
  std::vector<std::shared_ptr<Network>> endpoints;
  for (uint32_t i : {0, 1})
    endpoints.push_back(
        (*processes.threads[i]->connect({{0, 1}, {1, 1}}, {0, 1}))[i]);
  std::vector<std::unique_ptr<Session>> sessions;
  for (uint32_t i = 0; i < 2; ++i) {
    SessionOptions options;
    options.firstRank = i;
    options.rankCount = 1;
    options.network = endpoints[i];
    options.workers = 1;
    if (i == 1)
      options.transport = transportOf(processes.threads[1]);
    sessions.push_back(*Session::create(artifact, std::move(options)));
  }
  Batch batch{};
  for (const auto &session : sessions)
    EXPECT_TRUE(
        session->bindInput(0, 0, reinterpret_cast<std::byte *>(&batch)).ok());
  Status other;
  std::thread thread([&] { other = sessions[1]->run("main"); });
  Status status = sessions[0]->run("main");
  thread.join();
  EXPECT_FALSE(other.ok());
  EXPECT_NE(status.message().find("transport"), std::string::npos)
      << status.message();
}

} // namespace
} // namespace lockstep::runtime::test

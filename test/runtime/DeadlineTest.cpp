//===- DeadlineTest.cpp - the watchdog and its report ---------------------===//
//
// Time is a fake clock's. Nothing here sleeps: a test waits until the watchdog
// has sampled the progress.
//
//===----------------------------------------------------------------------===//

#include "FakeClock.h"
#include "TestProgram.h"

#include "runtime/executor/Cluster.h"
#include "runtime/executor/VariableMemory.h"

#include <atomic>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <thread>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

class Deadline : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Workers, Deadline, testing::Values(1, 2));

/// launch; all_reduce on channel 0; once on channel 1; barrier on channel 2.
void buildAllReduceAndOnce(TestProgram &p) {
  uint32_t a = p.variable("a", ElementType::f32, {256}, true);
  uint32_t w = p.variable("w", ElementType::f32, {256});
  uint32_t sum = p.buffer(Space::shared, ElementType::f32, {256});
  uint32_t reduce = p.channel();
  p.launch("nothing", {a}, {});
  p.start(CollectiveKind::all_reduce, Reduction::sum, reduce, {a}, {sum});
  p.wait(reduce);
  p.once(p.channel());
  p.copy(sum, w);
  p.endOnce();
  p.barrier(p.channel());
  p.ret();
}

// The report names the collective, its line, and the replicas that have arrived
// and that are missing. [10-stuck-peer]
TEST_P(Deadline, pausedReplicaIsReported) {
  FakeClock clock;
  TestProgram p(4);
  buildAllReduceAndOnce(p);
  std::atomic<int> injected{0}, reported{0};
  auto session =
      p.session({.workers = GetParam(),
                 .deadline = 60s,
                 .clock = &clock,
                 .injections = {"pause:replica=2,channel=0"},
                 .onInjection = [&](const std::string &) { ++injected; },
                 .onDeadline = [&](const DeadlineReport &) { ++reported; }});
  Status status = runWithTime(*session, clock, 10s, GetParam());
  EXPECT_EQ(status.code(), StatusCode::deadline);
  EXPECT_EQ(injected, 1);
  EXPECT_EQ(reported, 1);
  std::string blocked = "blocked in command 2 'wait channel 0' (train.py:42)\n"
                        "  before that: 1 'start all_reduce sum channel 0' "
                        "(train.py:42), 0 'launch 'nothing'' (train.py:42)";
  EXPECT_EQ(withoutDevices(status.message()),
            "no replica of program 'main' has made progress for 60 s\n"
            "waiting for channel 0 (all_reduce sum, 1024 bytes, train.py:42)\n"
            "  arrived: replicas 0-1, 3\n"
            "  missing: replica 2\n"
            "replica 0: " +
                blocked + "\nreplica 1: " + blocked +
                "\nreplica 2: paused by an injected fault before command 1 "
                "'start all_reduce sum channel 0' (train.py:42)"
                "\n  before that: 0 'launch 'nothing'' (train.py:42)"
                "\nreplica 3: " +
                blocked);
  nlohmann::json json = nlohmann::json::parse(session->deadlineReport().json);
  EXPECT_EQ(json["waits"][0]["channel"], 0);
  EXPECT_EQ(json["waits"][0]["missing"], nlohmann::json::array({2}));
  EXPECT_EQ(json["replicas"][2]["state"], "paused");
  EXPECT_EQ(json["replicas"][0]["state"], "blocked");
  EXPECT_EQ(json["replicas"][0]["channel"], 0);
  std::vector<std::string> events;
  for (const nlohmann::json &event : json["replicas"][0]["events"])
    events.push_back(fmt::format("{} {} {}", event["event"].get<std::string>(),
                                 event["command"].get<int>(),
                                 event["location"].get<std::string>()));
  EXPECT_EQ(events, (std::vector<std::string>{
                        "begins 0 train.py:42", "begins 1 train.py:42",
                        "begins 2 train.py:42", "blocks 2 train.py:42"}));

  // No program can run, but no variable has been written and all can still be
  // read.
  EXPECT_TRUE(session->poisoned());
  EXPECT_TRUE(session->variablesIntact());
  EXPECT_EQ(session->run("main").code(), StatusCode::poisoned);
  EXPECT_EQ(session->variable("a", 2).size(), 1024u);
}

// Once sections and barriers are waited for and reported like collectives.
TEST_P(Deadline, onceAndBarrier) {
  for (auto [injection, expected] :
       {std::pair("pause:replica=1,channel=1",
                  "waiting for channel 1 (once, 0 bytes"),
        std::pair("pause:replica=3,channel=2",
                  "waiting for channel 2 (barrier, 0 bytes"),
        std::pair("pause:replica=0,command=0,program=main",
                  "missing: replica 0")}) {
    FakeClock clock;
    TestProgram p(4);
    buildAllReduceAndOnce(p);
    auto session = p.session(
        {.workers = GetParam(), .clock = &clock, .injections = {injection}});
    Status status = runWithTime(*session, clock, 30s, GetParam());
    EXPECT_EQ(status.code(), StatusCode::deadline);
    EXPECT_NE(status.message().find(expected), std::string::npos)
        << status.message();
    // The once section before the barrier has written a variable.
    EXPECT_EQ(session->variablesIntact(),
              std::string(expected).find("barrier") == std::string::npos);
  }
}

/// Advances the clock, with progress of a replica between two samples of the
/// watchdog, until the run returns.
template <typename Runner>
Status runWhileOneMakesProgress(Runner &runner, FakeClock &clock,
                                const std::atomic<uint64_t> &iterations) {
  Status status;
  std::atomic<bool> over{false};
  std::thread thread([&] {
    status = runner.run("main");
    over = true;
    clock.poke();
  });
  while (!over) {
    for (uint64_t before = iterations; !over && iterations < before + 2;)
      std::this_thread::yield();
    clock.advance(10s, [&] { return over.load(); });
  }
  thread.join();
  return status;
}

std::atomic<uint64_t> iterations;
std::atomic<bool> mayEnd;

/// Each replica executes a loop until its variable `ends` is true, which
/// follows `mayEnd`. Then all rendezvous.
void buildLoop(TestProgram &p) {
  iterations = 0;
  mayEnd = false;
  uint32_t ends = p.variable("ends", ElementType::i1, {}, true);
  p.call(
      [](void *buffer) {
        ++iterations;
        bool &mine = *static_cast<bool *>(buffer);
        mine = mine || mayEnd;
        std::this_thread::yield();
      },
      {ends}, {ends});
  p.branchUnless(ends, 0);
  p.barrier(p.channel());
  p.ret();
}

/// Options with which the second report of a long wait, none of which may be a
/// missed deadline, ends the loop of `buildLoop`.
SessionOptions untilSecondReport(FakeClock &clock, unsigned workers,
                                 std::vector<std::string> &texts) {
  SessionOptions options{.workers = workers, .deadline = 60s, .clock = &clock};
  options.onDeadline = [](const DeadlineReport &report) {
    ADD_FAILURE() << report.text;
  };
  options.onLongWait = [&texts](const DeadlineReport &report) {
    texts.push_back(report.text);
    EXPECT_EQ(nlohmann::json::parse(report.json)["waits"][0]["missing"],
              nlohmann::json::array({1}));
    mayEnd = texts.size() == 2;
  };
  return options;
}

/// Replica 0 waits, for 60 s and then for 120 s; replica 1 does something.
void expectLongWaits(const std::vector<std::string> &texts) {
  ASSERT_EQ(texts.size(), 2u);
  for (auto [text, seconds] :
       {std::pair(texts[0], 60), std::pair(texts[1], 120)}) {
    EXPECT_EQ(text.find(fmt::format(
                  "replicas of program 'main' have waited for {} s, while "
                  "others went on without coming\n"
                  "waiting for channel 0 (barrier, 0 bytes, train.py:42)\n"
                  "  arrived: replica 0\n"
                  "  missing: replica 1\n"
                  "replica 0: blocked in command 2 'barrier channel 0'",
                  seconds)),
              0u)
        << text;
    EXPECT_NE(text.find("\nreplica 1: "), std::string::npos);
  }
}

// A wait for a replica that makes progress without arriving is not aborted, but
// reported, again after twice the time.
TEST_P(Deadline, aLoopWithoutAnEndIsReported) {
  FakeClock clock;
  TestProgram p(2);
  buildLoop(p);
  std::vector<std::string> texts;
  auto session = p.session(untilSecondReport(clock, GetParam(), texts));
  session->variable("ends", 0)[0] = std::byte(1);
  Status status = runWhileOneMakesProgress(*session, clock, iterations);
  EXPECT_TRUE(status.ok()) << status.message();
  expectLongWaits(texts);
}

// The waiting replica and the missing one may be in different executors.
TEST_P(Deadline, aLoopOfAnotherExecutorIsReported) {
  FakeClock clock;
  TestProgram p(2);
  buildLoop(p);
  std::vector<std::string> texts;
  auto cluster = Cluster::create(
      p.artifact(), {.session = untilSecondReport(clock, 2 * GetParam(), texts),
                     .executors = 2});
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  const std::byte yes{1};
  (*cluster)->variable("ends", 0)->write(std::span(&yes, 1));
  Status status = runWhileOneMakesProgress(**cluster, clock, iterations);
  EXPECT_TRUE(status.ok()) << status.message();
  expectLongWaits(texts);
}

// If no replica waits, a loop may take any time.
TEST_P(Deadline, aLoopThatNobodyWaitsForIsNot) {
  FakeClock clock;
  TestProgram p(1);
  buildLoop(p);
  SessionOptions options{
      .workers = GetParam(), .deadline = 60s, .clock = &clock};
  options.onDeadline = options.onLongWait = [](const DeadlineReport &report) {
    ADD_FAILURE() << report.text;
  };
  auto session = p.session(options);
  std::thread stopper([&] {
    while (iterations < 100)
      std::this_thread::yield();
    mayEnd = true;
  });
  EXPECT_TRUE(runWhileOneMakesProgress(*session, clock, iterations).ok());
  stopper.join();
}

// Another session holds the lock of shared variables forever: waits for it have
// the deadline, too.
TEST(DeadlineVariables, stayLocked) {
  for (bool branches : {false, true}) {
    FakeClock clock;
    TestProgram p(1);
    uint32_t v = p.variable("v", ElementType::i1, {});
    if (branches)
      p.patch(p.branchUnless(v));
    else
      p.launch("nothing", {v}, {});
    p.ret();
    std::shared_ptr<const Artifact> artifact = p.artifact();
    std::shared_ptr<VariableMemory> variables =
        *VariableMemory::create(*openDevice(""), *artifact, 0);
    auto session = *Session::create(
        artifact, {.variables = variables, .workers = 1, .clock = &clock});
    ASSERT_TRUE(session->run("main").ok());
    std::unique_lock<std::timed_mutex> lock(variables->mutex(),
                                            std::try_to_lock);
    ASSERT_TRUE(lock.owns_lock());
    EXPECT_EQ(runWithTime(*session, clock, 30s, 0).code(),
              StatusCode::deadline);
  }
}

FakeClock *slowClock;

// 64 replicas whose kernels take 12 seconds each: the run takes longer than the
// deadline, without being aborted. On a device with queues, two threads execute
// kernels, and each of the workers may be delayed between a launch and the
// record by which the device notes its end: then the clock advances by up to
// sixteen steps without progress.
TEST_P(Deadline, slowButAliveIsNoAlarm) {
  FakeClock clock;
  slowClock = &clock;
  TestProgram p(64);
  uint32_t a = p.variable("a", ElementType::f32, {256}, true);
  uint32_t channel = p.channel();
  p.call(
      [](void *) {
        // The watchdog samples several times while this kernel runs.
        for (int i = 0; i < 4; ++i)
          slowClock->advance(3s, [] { return false; });
      },
      {a}, {});
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {a});
  p.wait(channel);
  p.ret();
  auto session =
      p.session({.workers = GetParam(), .deadline = 60s, .clock = &clock});
  Clock::Duration begin = clock.now();
  Status status = session->run("main");
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_GT(clock.now() - begin, 12min);
}

// Between runs no clock runs.
TEST_P(Deadline, idleSessionIsNoAlarm) {
  FakeClock clock;
  TestProgram p(2);
  buildAllReduceAndOnce(p);
  auto session = p.session({.workers = GetParam(), .clock = &clock});
  ASSERT_TRUE(session->run("main").ok());
  for (int i = 0; i < 30; ++i)
    clock.advance(50s, [] { return false; });
  EXPECT_TRUE(session->run("main").ok());
}

// An endless loop without a wait makes progress forever, so it misses no
// deadline; but the failure of another replica ends it.
TEST_P(Deadline, failureStopsLoops) {
  TestProgram p(2);
  uint32_t flag = p.variable("flag", ElementType::i1, {}, true);
  uint32_t n = p.reg();
  uint32_t bounded =
      p.dynamicBuffer(Space::replica, ElementType::f32, {-1}, {int32_t(n)}, 8);
  uint32_t branch = p.branchUnless(flag);
  uint32_t loop = p.jump(0);
  p.program->commands[loop]->body.AsJump()->target = loop;
  p.patch(branch);
  p.setRegister(n, 100);
  p.launch("nothing", {bounded}, {});
  p.ret();
  auto session = p.session({.workers = GetParam()});
  // With one worker, the replica that fails comes first.
  session->variable("flag", 1)[0] = std::byte(GetParam() == 2);
  EXPECT_EQ(session->run("main").code(), StatusCode::outOfRange);
}

} // namespace

//===- CoordinatorErrorsTest.cpp - errors of scheduled functions ----------===//

#include "Coordinators.h"
#include "FakeClock.h"

#include "runtime/transport/exchange/ExchangeFactory.h"
#include "runtime/transport/local/LocalNetwork.h"

#include <atomic>
#include <barrier>
#include <thread>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

// The first error is returned once; later functions are cancelled; afterwards
// the coordinator can be used again. [8-coordinator]
TEST(Coordinator, errorIsRaisedByJoin) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {});
  std::atomic<bool> mayFail{false};
  Expected<ScheduledFunction> good = coordinator->schedule(adds(1));
  Expected<ScheduledFunction> bad =
      coordinator->schedule([&](Cluster &, unsigned) {
        while (!mayFail)
          std::this_thread::yield();
        return invalidArgument("the first");
      });
  Expected<ScheduledFunction> cancelled = coordinator->schedule(adds(10));
  mayFail = true;
  EXPECT_TRUE(good->wait().ok());
  EXPECT_EQ(bad->wait().message(), "the first");
  EXPECT_EQ(cancelled->wait().message(),
            "cancelled: an earlier function has failed: the first");
  EXPECT_EQ(cancelled->wait().code(), StatusCode::poisoned);
  EXPECT_EQ(coordinator->join().message(), "the first");
  EXPECT_TRUE(coordinator->join().ok());
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 1);
  ASSERT_TRUE(coordinator->schedule(adds(100)).ok());
  EXPECT_TRUE(coordinator->join().ok());
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 101);
}

TEST(Coordinator, errorIsRaisedByScheduleAndDone) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {.workers = 2});
  (void)coordinator->schedule(fails("one"))->wait();
  EXPECT_EQ(coordinator->schedule(adds(1)).status().message(), "one");
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 0);
  (void)coordinator->schedule(fails("two"))->wait();
  EXPECT_EQ(coordinator->done().status().message(), "two");
  EXPECT_TRUE(*coordinator->done());
}

// When an error has been returned, no function is executing: those that had
// begun have ended.
TEST(Coordinator, errorWaitsForOthers) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {.workers = 2});
  std::atomic<bool> begun{false}, mayEnd{false}, ended{false};
  ASSERT_TRUE(coordinator
                  ->schedule([&](Cluster &, unsigned) {
                    begun = true;
                    while (!mayEnd)
                      std::this_thread::yield();
                    ended = true;
                    return Status::success();
                  })
                  .ok());
  while (!begun)
    std::this_thread::yield();
  Expected<ScheduledFunction> bad = coordinator->schedule(fails("no"));
  EXPECT_EQ(bad->wait().message(), "no");
  std::thread releaser([&] { mayEnd = true; });
  EXPECT_EQ(coordinator->join().message(), "no");
  EXPECT_TRUE(ended);
  releaser.join();
}

// A run that fails poisons the cluster of its worker alone, which is replaced;
// variables stay.
TEST_P(CoordinatorOf, laneIsReplacedAfterAnError) {
  TestProgram p(1);
  buildBounded(p);
  auto coordinator = coordinatorOf(p, options());
  ASSERT_TRUE(coordinator->schedule(adds(10)).ok());
  ASSERT_TRUE(coordinator->join().ok());
  uint64_t sent = coordinator->serverTraffic().toServers;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(coordinator->schedule(adds(11)).ok());
    Status status = coordinator->join();
    EXPECT_EQ(status.code(), StatusCode::outOfRange);
    EXPECT_NE(status.message().find("dynamic dimensions [11] of buffer"),
              std::string::npos)
        << status.message();
    EXPECT_EQ(coordinator->read("v")->front(), std::byte(10));
  }
  for (unsigned i = 0; i < 20; ++i)
    ASSERT_TRUE(coordinator->schedule(adds(7)).ok());
  ASSERT_TRUE(coordinator->join().ok());
  EXPECT_EQ(coordinator->read("v")->front(), std::byte(7));
  EXPECT_EQ(coordinator->completedRuns(), 21u);
  EXPECT_EQ(coordinator->serverTraffic().toServers, 21 * sent);
}

// Each worker has its own deadline: one that is blocked ends with its report,
// the other continues.
TEST(Coordinator, watchdogOfEachLane) {
  FakeClock clock;
  TestProgram p(1);
  build(p);
  std::atomic<int> reported{0}, made{0};
  CoordinatorOptions options{.workers = 2, .session = {.workers = 1}};
  options.session.onDeadline = [&](const DeadlineReport &) {
    ++reported;
    clock.poke();
  };
  options.adapt = [&](unsigned worker, SessionOptions &session) {
    if (worker == 0)
      return;
    session.clock = &clock;
    if (made++ == 0)
      session.injections = {"pause:replica=0,channel=1"};
  };
  auto coordinator = coordinatorOf(p, options);
  std::barrier rendezvous(2);
  std::atomic<bool> isStuck{false};
  auto function = [&](Cluster &lane, unsigned worker) -> Status {
    rendezvous.arrive_and_wait();
    isStuck = worker == 1 || isStuck;
    for (int i = 0; i < (worker == 0 ? 50 : 1); ++i)
      LOCKSTEP_RETURN_IF_ERROR(step(lane, 1));
    return Status::success();
  };
  Expected<ScheduledFunction> one = coordinator->schedule(function),
                              other = coordinator->schedule(function);
  while (!isStuck ||
         coordinator->lane(1).idleWorkers() < coordinator->lane(1).workers())
    std::this_thread::yield();
  while (reported == 0)
    clock.advance(10s, [&] { return reported != 0; });
  Status status = coordinator->join();
  EXPECT_EQ(status.code(), StatusCode::deadline);
  EXPECT_NE(
      status.message().find("paused by an injected fault before command 2"),
      std::string::npos)
      << status.message();
  EXPECT_NE(one->wait().ok(), other->wait().ok());
  EXPECT_EQ(reported, 1);
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 50);
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(coordinator->schedule(adds(1)).ok());
  EXPECT_TRUE(coordinator->join().ok());
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 70);
}

// Of several callers that wait for the same error one gets it; the others
// schedule and join as if they had come later.
TEST(Coordinator, oneOfSeveralCallersGetsTheError) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {.workers = 2});
  for (int round = 0; round < 20; ++round) {
    Gate gate;
    ASSERT_TRUE(coordinator->schedule(gate.then(adds(0))).ok());
    gate.awaitBegin();
    EXPECT_EQ(coordinator->schedule(fails("no"))->wait().message(), "no");
    std::atomic<int> errors{0}, callers{0}, scheduled{0};
    auto count = [&](const Status &status) {
      errors += !status.ok();
      if (!status.ok()) {
        EXPECT_EQ(status.message(), "no");
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        ++callers;
        if (i % 2 == 0)
          return count(coordinator->join());
        Expected<ScheduledFunction> function = coordinator->schedule(adds(1));
        count(function.status());
        scheduled += function.ok();
      });
    while (callers < 4)
      std::this_thread::yield();
    gate.mayEnd = true;
    for (std::thread &thread : threads)
      thread.join();
    count(coordinator->join());
    EXPECT_EQ(errors, 1);
    EXPECT_EQ(wholeValue(*coordinator->read("v0")), scheduled);
    ASSERT_TRUE(coordinator->write("v0", bytesOf(Values{})).ok());
  }
}

// `done` does not wait for functions of other workers.
TEST(Coordinator, doneDoesNotWait) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {.workers = 2});
  Gate gate;
  Expected<ScheduledFunction> slow = coordinator->schedule(gate.then(adds(1)));
  gate.awaitBegin();
  EXPECT_EQ(coordinator->schedule(fails("no"))->wait().message(), "no");
  EXPECT_FALSE(*coordinator->done());
  gate.mayEnd = true;
  EXPECT_TRUE(slow->wait().ok());
  EXPECT_EQ(coordinator->done().status().message(), "no");
  EXPECT_TRUE(*coordinator->done());
}

/// Of the first of two processes.
class TwoProcessTransport final : public ExchangeFactory {
public:
  std::string_view name() const override { return "two"; }
  ProcessPlace place() const override { return {.index = 0, .count = 2}; }
  Expected<std::vector<std::shared_ptr<Network>>>
  connect(std::vector<RankRange> executors,
          std::vector<uint32_t> /*processOf*/) override {
    return LocalNetwork::create(std::move(executors));
  }
};

// Workers share the variables of the servers as memory.
TEST(Coordinator, refusesServersInOtherProcesses) {
  TestProgram p(1);
  build(p);
  CoordinatorOptions options;
  options.workers = 2;
  options.session.transport = std::make_shared<TwoProcessTransport>();
  EXPECT_EQ(
      Coordinator::create(p.artifact(), std::move(options)).status().message(),
      "expected a transport that has all executors of a worker in this "
      "process, found 'two', which connects 2 processes");
}

} // namespace

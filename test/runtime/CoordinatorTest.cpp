//===- CoordinatorTest.cpp - workers that take steps on their own ---------===//

#include "FakeClock.h"
#include "TestProgram.h"

#include "runtime/executor/Coordinator.h"

#include <array>
#include <atomic>
#include <barrier>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

constexpr int64_t elements = 64;
using Values = std::array<int64_t, elements>;

struct alignas(64) Batch {
  explicit Batch(int64_t value) { x.fill(value); }
  Values x;
};

/// v += x, element by element: the more time it takes, the more others get in between if they can.
void add(void *const *buffers, const int64_t *, int64_t) {
  auto *v = static_cast<int64_t *>(buffers[2]);
  auto *x = static_cast<const int64_t *>(buffers[1]);
  for (int64_t i = 0; i < elements; ++i)
    v[i] += x[i];
}

/// For each server a step gets a variable, then gives "x", which the server adds to it.
void build(TestProgram &p, unsigned servers = 2) {
  std::vector<uint32_t> groups;
  for (uint32_t s = 0; s < servers; ++s) {
    uint32_t rank = p.role("server" + std::to_string(s));
    groups.push_back(p.group({0, rank}));
    uint32_t variable = p.variable("v" + std::to_string(s), ElementType::i64, {elements});
    uint32_t value = p.buffer(Space::replica, ElementType::i64, {elements});
    uint32_t given = p.buffer(Space::replica, ElementType::i64, {elements});
    uint32_t pull = p.channel(2 * s), push = p.channel(2 * s + 1);
    p.copy(variable, value);
    p.start(CollectiveKind::broadcast, Reduction::none, pull, {value}, {}, groups[s], 0, int32_t(rank));
    p.wait(pull);
    p.start(CollectiveKind::broadcast, Reduction::none, push, {}, {given}, groups[s], 0, 0);
    p.wait(push);
    p.call(add, {variable, given}, {variable});
    p.ret();
  }
  p.in("worker");
  uint32_t x = p.input("x", ElementType::i64, {elements});
  for (uint32_t s = 0; s < servers; ++s) {
    uint32_t pulled = p.buffer(Space::replica, ElementType::i64, {elements});
    p.output("v" + std::to_string(s), pulled);
    uint32_t pull = p.channel(2 * s), push = p.channel(2 * s + 1);
    p.start(CollectiveKind::broadcast, Reduction::none, pull, {}, {pulled}, groups[s], 0, int32_t(s + 1));
    p.wait(pull);
    p.start(CollectiveKind::broadcast, Reduction::none, push, {x}, {}, groups[s], 0, 0);
    p.wait(push);
  }
  p.ret();
}

std::unique_ptr<Coordinator> coordinatorOf(TestProgram &p, CoordinatorOptions options) {
  Expected<std::unique_ptr<Coordinator>> created = Coordinator::create(p.artifact(), std::move(options));
  EXPECT_TRUE(created.ok()) << created.status().message();
  return created ? std::move(*created) : nullptr;
}

std::string errorOf(TestProgram &p, CoordinatorOptions options = {}) {
  return Coordinator::create(p.artifact(), std::move(options)).status().message();
}

Values valuesOf(std::span<const std::byte> bytes) {
  Values values{};
  EXPECT_EQ(bytes.size(), sizeof(values));
  std::memcpy(values.data(), bytes.data(), std::min(bytes.size(), sizeof(values)));
  return values;
}

/// Of a variable whose elements are always the same; fails the test if they are not.
int64_t wholeValue(std::span<const std::byte> bytes) {
  Values values = valuesOf(bytes);
  EXPECT_EQ(std::ranges::count(values, values[0]), elements);
  return values[0];
}

Status step(Cluster &lane, int64_t x) {
  Batch batch(x);
  LOCKSTEP_RETURN_IF_ERROR(lane.bindInput(0, 0, reinterpret_cast<const std::byte *>(&batch)));
  return lane.run("main");
}

Coordinator::Function adds(int64_t x) {
  return [x](Cluster &lane, unsigned) { return step(lane, x); };
}

Coordinator::Function fails(std::string message) {
  return [message](Cluster &, unsigned) { return invalidArgument(message); };
}

class CoordinatorOf : public testing::TestWithParam<std::tuple<unsigned, unsigned>> {
protected:
  CoordinatorOptions options() const { return {.workers = std::get<0>(GetParam()), .session = {.workers = std::get<1>(GetParam())}}; }
};
INSTANTIATE_TEST_SUITE_P(Workers, CoordinatorOf, testing::Combine(testing::Values(1, 2, 3, 5), testing::Values(1, 12)));

// Whatever the order, no update is lost, and no value is read in half: neither by steps nor from outside.
TEST_P(CoordinatorOf, updatesAddUp) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, options());
  constexpr int64_t steps = 300;
  std::vector<ScheduledFunction> scheduled;
  std::atomic<int64_t> seen{0};
  for (int64_t i = 1; i <= steps; ++i) {
    Expected<ScheduledFunction> function = coordinator->schedule([&, i](Cluster &lane, unsigned worker) {
      EXPECT_LT(worker, coordinator->workers());
      LOCKSTEP_RETURN_IF_ERROR(step(lane, i));
      for (unsigned output : {0u, 1u})
        EXPECT_LE(wholeValue(lane.output(0, output)), steps * (steps + 1) / 2);
      ++seen;
      return Status::success();
    });
    ASSERT_TRUE(function.ok());
    scheduled.push_back(*function);
    int64_t now = wholeValue(*coordinator->read("v1"));
    EXPECT_LE(now, i * (i + 1) / 2);
  }
  ASSERT_TRUE(coordinator->join().ok());
  EXPECT_EQ(seen, steps);
  for (const ScheduledFunction &function : scheduled)
    EXPECT_TRUE(function.isOver());
  EXPECT_TRUE(scheduled.front().wait().ok());
  for (std::string_view name : {"v0", "v1"})
    EXPECT_EQ(wholeValue(*coordinator->read(name)), steps * (steps + 1) / 2);
  EXPECT_EQ(wholeValue(coordinator->lane().variable("v0")->read()), steps * (steps + 1) / 2);
  EXPECT_EQ(coordinator->completedRuns(), uint64_t(steps));
  // With each variable goes its size.
  Cluster::ServerTraffic traffic = coordinator->serverTraffic();
  EXPECT_EQ(traffic.given, traffic.got);
  EXPECT_EQ(traffic.got % steps, 0u);
  EXPECT_GT(traffic.got, uint64_t(steps) * 2 * sizeof(Values));
}

/// a += x and b += x by way of other memory, as it is compiled where an update cannot be made in place.
void buildCopied(TestProgram &p) {
  uint32_t rank = p.role("server");
  uint32_t group = p.group({0, rank});
  uint32_t a = p.variable("a", ElementType::i64, {elements}), b = p.variable("b", ElementType::i64, {elements});
  uint32_t given = p.buffer(Space::replica, ElementType::i64, {elements});
  uint32_t next = p.buffer(Space::replica, ElementType::i64, {elements});
  uint32_t values[2] = {p.buffer(Space::replica, ElementType::i64, {elements}), p.buffer(Space::replica, ElementType::i64, {elements})};
  uint32_t push = p.channel(), pulls[2] = {p.channel(), p.channel()};
  p.start(CollectiveKind::broadcast, Reduction::none, push, {}, {given}, group, 0, 0);
  p.wait(push);
  for (uint32_t variable : {a, b}) {
    p.copy(variable, next);
    p.call(add, {next, given}, {next});
    p.copy(next, variable);
  }
  p.copy(a, values[0]);
  p.copy(b, values[1]);
  for (int i = 0; i < 2; ++i) {
    p.start(CollectiveKind::broadcast, Reduction::none, pulls[i], {values[i]}, {}, group, 0, int32_t(rank));
    p.wait(pulls[i]);
  }
  p.ret();
  p.in("worker");
  uint32_t x = p.input("x", ElementType::i64, {elements});
  p.start(CollectiveKind::broadcast, Reduction::none, p.channel(push), {x}, {}, group, 0, 0);
  p.wait(push);
  for (int i = 0; i < 2; ++i) {
    uint32_t pulled = p.buffer(Space::replica, ElementType::i64, {elements});
    p.output(i ? "b" : "a", pulled);
    p.start(CollectiveKind::broadcast, Reduction::none, p.channel(pulls[i]), {}, {pulled}, group, 0, int32_t(rank));
    p.wait(pulls[i]);
  }
  p.ret();
}

// Several commands between two waits are one update: of one variable, and of several on one server.
TEST_P(CoordinatorOf, commandsBetweenWaitsAreOneUpdate) {
  TestProgram p(1);
  buildCopied(p);
  auto coordinator = coordinatorOf(p, options());
  constexpr int64_t steps = 300;
  for (int64_t i = 1; i <= steps; ++i)
    ASSERT_TRUE(coordinator->schedule([i](Cluster &lane, unsigned) {
      Status status = step(lane, i);
      EXPECT_EQ(wholeValue(lane.output(0, "a")), wholeValue(lane.output(0, "b")));
      return status;
    }).ok());
  ASSERT_TRUE(coordinator->join().ok());
  for (std::string_view name : {"a", "b"})
    EXPECT_EQ(wholeValue(*coordinator->read(name)), steps * (steps + 1) / 2);
}

// One worker takes the functions in their order, and each step sees what all before it have done.
TEST(Coordinator, oneWorkerIsInOrder) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {});
  std::vector<int64_t> seen;
  for (int64_t i = 1; i <= 20; ++i)
    ASSERT_TRUE(coordinator->schedule([&, i](Cluster &lane, unsigned) {
      Status status = step(lane, i);
      seen.push_back(wholeValue(lane.output(0, "v0")));
      return status;
    }).ok());
  ASSERT_TRUE(coordinator->join().ok());
  for (int64_t i = 0; i < 20; ++i)
    EXPECT_EQ(seen[size_t(i)], i * (i + 1) / 2);
}

// All workers work at the same time: each of these functions waits for the others.
TEST(Coordinator, workersAreIndependent) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {.workers = 3, .session = {.workers = 1}});
  std::barrier meeting(3);
  std::array<std::atomic<int>, 3> calls{};
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(coordinator->schedule([&](Cluster &lane, unsigned worker) {
      meeting.arrive_and_wait();
      ++calls[worker];
      return step(lane, 1);
    }).ok());
  ASSERT_TRUE(coordinator->join().ok());
  for (const std::atomic<int> &count : calls)
    EXPECT_EQ(count, 1);
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 3);
}

// Nothing, and less than there are workers.
TEST_P(CoordinatorOf, fewFunctions) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, options());
  EXPECT_TRUE(coordinator->join().ok());
  EXPECT_TRUE(*coordinator->done());
  ASSERT_TRUE(coordinator->schedule(adds(5)).ok());
  EXPECT_TRUE(coordinator->join().ok());
  EXPECT_TRUE(*coordinator->done());
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 5);
  coordinatorOf(p, options());
}

// What is still scheduled when the coordinator goes is cancelled; what has begun ends.
TEST(Coordinator, destructionCancels) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {});
  std::atomic<bool> begun{false}, mayEnd{false};
  Expected<ScheduledFunction> first = coordinator->schedule([&](Cluster &, unsigned) {
    begun = true;
    while (!mayEnd)
      std::this_thread::yield();
    return Status::success();
  });
  Expected<ScheduledFunction> second = coordinator->schedule(adds(1));
  while (!begun)
    std::this_thread::yield();
  EXPECT_FALSE(*coordinator->done());
  EXPECT_FALSE(second->isOver());
  std::thread destroyer([&] { coordinator.reset(); });
  EXPECT_EQ(second->wait().message(), "cancelled: the coordinator has been destroyed");
  EXPECT_FALSE(first->isOver());
  mayEnd = true;
  EXPECT_TRUE(first->wait().ok());
  destroyer.join();
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

// The first error is returned once; what comes after it is cancelled; then all is as before.
TEST(Coordinator, errorIsRaisedByJoin) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {});
  std::atomic<bool> mayFail{false};
  Expected<ScheduledFunction> good = coordinator->schedule(adds(1));
  Expected<ScheduledFunction> bad = coordinator->schedule([&](Cluster &, unsigned) {
    while (!mayFail)
      std::this_thread::yield();
    return invalidArgument("the first");
  });
  Expected<ScheduledFunction> cancelled = coordinator->schedule(adds(10));
  mayFail = true;
  EXPECT_TRUE(good->wait().ok());
  EXPECT_EQ(bad->wait().message(), "the first");
  EXPECT_EQ(cancelled->wait().message(), "cancelled: an earlier function has failed: the first");
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

// When an error has been returned, nothing is executed any more: those who had begun have ended.
TEST(Coordinator, errorWaitsForOthers) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {.workers = 2});
  std::atomic<bool> begun{false}, mayEnd{false}, ended{false};
  ASSERT_TRUE(coordinator->schedule([&](Cluster &, unsigned) {
    begun = true;
    while (!mayEnd)
      std::this_thread::yield();
    ended = true;
    return Status::success();
  }).ok());
  while (!begun)
    std::this_thread::yield();
  Expected<ScheduledFunction> bad = coordinator->schedule(fails("no"));
  EXPECT_EQ(bad->wait().message(), "no");
  std::thread releaser([&] { mayEnd = true; });
  EXPECT_EQ(coordinator->join().message(), "no");
  EXPECT_TRUE(ended);
  releaser.join();
}

/// A step that asks for room for "rows", of which there is enough for 10; then it gives 1 to the server.
void buildBounded(TestProgram &p) {
  uint32_t rank = p.role("server");
  uint32_t group = p.group({0, rank});
  uint32_t variable = p.variable("v", ElementType::i64, {});
  uint32_t given = p.buffer(Space::replica, ElementType::i64, {});
  uint32_t push = p.channel();
  p.start(CollectiveKind::broadcast, Reduction::none, push, {}, {given}, group, 0, 0);
  p.wait(push);
  p.copy(given, variable);
  p.ret();
  p.in("worker");
  uint32_t x = p.input("rows", ElementType::i64, {});
  uint32_t rows = p.reg();
  uint32_t bounded = p.dynamicBuffer(Space::replica, ElementType::i64, {-1}, {int32_t(rows)}, 80);
  p.loadRegister(rows, x);
  p.launch("nothing", {bounded}, {});
  p.start(CollectiveKind::broadcast, Reduction::none, p.channel(push), {x}, {}, group, 0, 0);
  p.wait(push);
  p.ret();
}

// A run that fails poisons the cluster of its worker alone, which is replaced; variables stay.
TEST_P(CoordinatorOf, laneIsReplacedAfterAnError) {
  TestProgram p(1);
  buildBounded(p);
  auto coordinator = coordinatorOf(p, options());
  ASSERT_TRUE(coordinator->schedule(adds(10)).ok());
  ASSERT_TRUE(coordinator->join().ok());
  uint64_t given = coordinator->serverTraffic().given;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(coordinator->schedule(adds(11)).ok());
    Status status = coordinator->join();
    EXPECT_EQ(status.code(), StatusCode::outOfRange);
    EXPECT_NE(status.message().find("dynamic dimensions [11] of buffer"), std::string::npos) << status.message();
    EXPECT_EQ(coordinator->read("v")->front(), std::byte(10));
  }
  for (unsigned i = 0; i < 20; ++i)
    ASSERT_TRUE(coordinator->schedule(adds(7)).ok());
  ASSERT_TRUE(coordinator->join().ok());
  EXPECT_EQ(coordinator->read("v")->front(), std::byte(7));
  EXPECT_EQ(coordinator->completedRuns(), 21u);
  EXPECT_EQ(coordinator->serverTraffic().given, 21 * given);
}

// The deadline is each worker's own: one that is stuck ends with its report, the other goes on.
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
  std::barrier meeting(2);
  std::atomic<bool> isStuck{false};
  auto function = [&](Cluster &lane, unsigned worker) -> Status {
    meeting.arrive_and_wait();
    isStuck = worker == 1 || isStuck;
    for (int i = 0; i < (worker == 0 ? 50 : 1); ++i)
      LOCKSTEP_RETURN_IF_ERROR(step(lane, 1));
    return Status::success();
  };
  Expected<ScheduledFunction> one = coordinator->schedule(function), other = coordinator->schedule(function);
  while (!isStuck || coordinator->lane(1).idleWorkers() < coordinator->lane(1).workers())
    std::this_thread::yield();
  while (reported == 0)
    clock.advance(10s, [&] { return reported != 0; });
  Status status = coordinator->join();
  EXPECT_EQ(status.code(), StatusCode::deadline);
  EXPECT_NE(status.message().find("paused by an injected fault before command 2"), std::string::npos) << status.message();
  EXPECT_NE(one->wait().ok(), other->wait().ok());
  EXPECT_EQ(reported, 1);
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 50);
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(coordinator->schedule(adds(1)).ok());
  EXPECT_TRUE(coordinator->join().ok());
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 70);
}

/// A function that waits until it may end, and says when it has begun.
struct Gate {
  std::atomic<bool> begun{false}, mayEnd{false};
  Coordinator::Function then(Coordinator::Function next) {
    return [this, next](Cluster &lane, unsigned worker) {
      begun = true;
      while (!mayEnd)
        std::this_thread::yield();
      return next(lane, worker);
    };
  }
  void awaitBegin() const {
    while (!begun)
      std::this_thread::yield();
  }
};

// Of several callers that wait for the same error one gets it; the others schedule and join as if they had come later.
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

// Who only asks is not made to wait for what others execute.
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

//===----------------------------------------------------------------------===//
// Given up
//===----------------------------------------------------------------------===//

// What has begun ends, what has not never begins, whether it was scheduled before or after; and nothing of it is an error.
TEST(Coordinator, cancels) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {});
  Gate gate;
  Expected<ScheduledFunction> first = coordinator->schedule(gate.then(adds(1))), second = coordinator->schedule(adds(10));
  gate.awaitBegin();
  coordinator->cancel("enough");
  EXPECT_EQ(second->wait().message(), "cancelled: enough");
  EXPECT_EQ(second->wait().code(), StatusCode::poisoned);
  Expected<ScheduledFunction> third = coordinator->schedule(adds(100));
  ASSERT_TRUE(third.ok());
  EXPECT_TRUE(third->isOver());
  EXPECT_EQ(third->wait().message(), "cancelled: enough");
  EXPECT_FALSE(first->isOver());
  gate.mayEnd = true;
  EXPECT_TRUE(first->wait().ok());
  EXPECT_TRUE(coordinator->join().ok());
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 1);
}

const Status givenUp(StatusCode::interrupted, "given up");

// Nobody goes on in a lane that was aborted, and it is not replaced by one that knows nothing of it: neither for what has begun nor for what
// would come next.
TEST_P(CoordinatorOf, abortIsForGood) {
  TestProgram p(1);
  build(p);
  CoordinatorOptions given = options();
  std::atomic<unsigned> made{0};
  given.adapt = [&](unsigned, SessionOptions &) { ++made; };
  auto coordinator = coordinatorOf(p, given);
  ASSERT_TRUE(coordinator->schedule(adds(1)).ok());
  ASSERT_TRUE(coordinator->join().ok());
  Gate gate;
  std::atomic<bool> called{false};
  Expected<ScheduledFunction> first = coordinator->schedule(gate.then(adds(10)));
  gate.awaitBegin();
  coordinator->abort(givenUp);
  coordinator->abort({StatusCode::interrupted, "again"});
  gate.mayEnd = true;
  EXPECT_FALSE(first->wait().ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(coordinator->schedule([&](Cluster &, unsigned) {
      called = true;
      return Status::success();
    }).status().message(), "given up");
    EXPECT_EQ(coordinator->join().code(), StatusCode::interrupted);
    EXPECT_EQ(coordinator->done().status().message(), "given up");
  }
  EXPECT_FALSE(called);
  EXPECT_EQ(made, coordinator->workers());
  for (unsigned worker = 0; worker < coordinator->workers(); ++worker)
    EXPECT_TRUE(coordinator->lane(worker).poisoned());
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 1);
}

// What had not begun is cancelled by it.
TEST(Coordinator, abortCancels) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {});
  Gate gate;
  Expected<ScheduledFunction> first = coordinator->schedule(gate.then(adds(1))), second = coordinator->schedule(adds(10));
  gate.awaitBegin();
  coordinator->abort(givenUp);
  EXPECT_EQ(second->wait().message(), "cancelled: given up");
  gate.mayEnd = true;
  EXPECT_EQ(coordinator->join().message(), "given up");
  EXPECT_FALSE(first->wait().ok());
}

// A worker that makes its lane anew at this moment keeps the old one.
TEST(Coordinator, abortWhileALaneIsReplaced) {
  TestProgram p(1);
  buildBounded(p);
  std::atomic<int> made{0};
  std::atomic<bool> isAborted{false};
  CoordinatorOptions options;
  options.adapt = [&](unsigned, SessionOptions &) {
    if (++made == 2)
      while (!isAborted)
        std::this_thread::yield();
  };
  auto coordinator = coordinatorOf(p, options);
  ASSERT_TRUE(coordinator->schedule(adds(11)).ok());
  EXPECT_EQ(coordinator->join().code(), StatusCode::outOfRange);
  Cluster *lane = &coordinator->lane();
  std::atomic<bool> called{false};
  Expected<ScheduledFunction> function = coordinator->schedule([&](Cluster &, unsigned) {
    called = true;
    return Status::success();
  });
  while (made < 2)
    std::this_thread::yield();
  coordinator->abort(givenUp);
  isAborted = true;
  EXPECT_EQ(function->wait().message(), "given up");
  EXPECT_EQ(coordinator->join().message(), "given up");
  EXPECT_FALSE(called);
  EXPECT_EQ(&coordinator->lane(), lane);
}

/// What a kernel that hangs shares with its test; never freed, because both outlive it.
struct Hang {
  FakeClock clock;
  std::atomic<bool> hangs{false}, mayReturn{false};
};
std::atomic<Hang *> hang;

// A kernel that never ends, on the worker's own thread: join returns, others go on, and the coordinator can be destroyed.
TEST(Coordinator, workerThatHangsIsLeftBehind) {
  Hang *mine = hang = new Hang;
  TestProgram p(1);
  uint32_t rank = p.role("server");
  p.variable("v", ElementType::i64, {});
  p.barrier(p.channel(), p.group({0, rank}));
  p.ret();
  p.in("worker");
  uint32_t hangs = p.input("hangs", ElementType::i1, {});
  uint32_t branch = p.branchUnless(hangs);
  p.call([](void *const *, const int64_t *, int64_t) {
    Hang *mine = hang;
    mine->hangs = true;
    while (!mine->mayReturn)
      std::this_thread::yield();
  }, {}, {});
  p.patch(branch);
  p.barrier(p.channel(0), 1);
  p.ret();
  std::atomic<int> reported{0};
  CoordinatorOptions options{.workers = 2, .session = {.workers = 1, .clock = &mine->clock}};
  options.adapt = [](unsigned worker, SessionOptions &session) {
    if (worker == 1)
      session.clock = nullptr;
  };
  options.session.onDeadline = [&](const DeadlineReport &) {
    ++reported;
    hang.load()->clock.poke();
  };
  auto coordinator = coordinatorOf(p, options);
  std::barrier meeting(2);
  auto function = [&](Cluster &lane, unsigned worker) {
    meeting.arrive_and_wait();
    return step(lane, worker == 0 ? ~int64_t(0) : 0);
  };
  Expected<ScheduledFunction> first = coordinator->schedule(function), second = coordinator->schedule(function);
  while (!mine->hangs)
    std::this_thread::yield();
  while (reported == 0)
    mine->clock.advance(10s, [&] { return reported != 0; });
  EXPECT_NE(first->wait().ok(), second->wait().ok());
  EXPECT_EQ(coordinator->join().code(), StatusCode::deadline);
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(coordinator->schedule(adds(0)).ok());
  EXPECT_TRUE(coordinator->join().ok());
  EXPECT_EQ(coordinator->read("v")->size(), sizeof(int64_t));
  coordinator.reset();
  mine->mayReturn = true;
}

/// Sets each element, which is a NaN in between.
void setByWayOfNan(void *const *buffers, const int64_t *, int64_t) {
  auto *v = static_cast<volatile float *>(buffers[0]);
  constexpr int count = 1 << 18;
  // From the end, since who looks at it begins at the beginning.
  for (int i = count; i-- > 0;)
    v[i] = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < count; ++i)
    v[i] = 1;
}

// What a worker has written is looked at before another one writes there: nobody finds what others are in the middle of.
TEST(Coordinator, checksWhatItsOwnWorkerHasWritten) {
  TestProgram p(1);
  uint32_t rank = p.role("server");
  uint32_t group = p.group({0, rank}), begin = p.channel(), end = p.channel();
  uint32_t v = p.variable("v", ElementType::f32, {1 << 18});
  p.barrier(begin, group);
  p.call(setByWayOfNan, {v}, {v});
  p.barrier(end, group);
  p.ret();
  p.in("worker");
  p.barrier(p.channel(begin), group);
  p.barrier(p.channel(end), group);
  p.ret();
  auto coordinator = coordinatorOf(p, {.workers = 3, .session = {.workers = 1, .checkFinite = true}});
  for (int i = 0; i < 60; ++i)
    ASSERT_TRUE(coordinator->schedule([](Cluster &lane, unsigned) { return lane.run("main"); }).ok());
  Status status = coordinator->join();
  EXPECT_TRUE(status.ok()) << status.message();
}

// A server that hangs in an update has its variables for ever: who reads and writes them from outside is told.
TEST(Coordinator, serverThatHangs) {
  Hang *mine = hang = new Hang;
  TestProgram p(1);
  uint32_t rank = p.role("server");
  uint32_t group = p.group({0, rank}), begin = p.channel();
  uint32_t v = p.variable("v", ElementType::i64, {});
  p.barrier(begin, group);
  p.call([](void *const *, const int64_t *, int64_t) {
    Hang *mine = hang;
    mine->hangs = true;
    while (!mine->mayReturn)
      std::this_thread::yield();
  }, {v}, {v});
  p.ret();
  p.in("worker");
  p.barrier(p.channel(begin), group);
  p.ret();
  // The watchdog's clock stands still.
  auto coordinator = coordinatorOf(p, {.workers = 1, .session = {.workers = 1, .deadline = 1ms, .clock = &mine->clock}});
  int64_t value = 7;
  ASSERT_TRUE(coordinator->write("v", bytesOf(value)).ok());
  ASSERT_TRUE(coordinator->schedule([](Cluster &lane, unsigned) { return lane.run("main"); }).ok());
  while (!mine->hangs)
    std::this_thread::yield();
  for (const Status &status : {coordinator->read("v").status(), coordinator->write("v", bytesOf(value))}) {
    EXPECT_EQ(status.code(), StatusCode::deadline);
    EXPECT_EQ(status.message(), "variable 'v': expected its server to be between two updates within 0.001 s, found it in one");
  }
  mine->mayReturn = true;
  EXPECT_TRUE(coordinator->join().ok());
  EXPECT_EQ(coordinator->read("v")->front(), std::byte(7));
}

//===----------------------------------------------------------------------===//
// What it is and what it refuses
//===----------------------------------------------------------------------===//

TEST(Coordinator, readsAndWritesVariables) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {.workers = 2});
  Values values;
  values.fill(1000);
  ASSERT_TRUE(coordinator->write("v1", bytesOf(values)).ok());
  ASSERT_TRUE(coordinator->schedule(adds(1)).ok());
  ASSERT_TRUE(coordinator->join().ok());
  EXPECT_EQ(wholeValue(*coordinator->read("v1")), 1001);
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 1);
  EXPECT_EQ(coordinator->read("v2").status().message(), "there is no variable 'v2'");
  EXPECT_EQ(coordinator->write("v2", {}).message(), "there is no variable 'v2'");
  EXPECT_EQ(coordinator->write("v1", {}).message(), "variable 'v1': expected 512 bytes, found 0");
}

TEST(Coordinator, refusesOtherStrategies) {
  const std::string expected = "expected an artifact of the strategy 'parameter_server' for workers that take steps on their own";
  TestProgram good(1);
  build(good);
  EXPECT_EQ(errorOf(good, {.workers = 0}), "expected 1 to 1024 workers, found 0");
  TestProgram several(2);
  several.ret();
  EXPECT_EQ(errorOf(several), expected + ", which has one replica, found 2");
  TestProgram alone(1);
  alone.ret();
  EXPECT_EQ(errorOf(alone), expected + ", found one without servers");
  TestProgram own(1);
  own.variable("own", ElementType::i64, {});
  own.ret();
  own.role("server");
  own.ret();
  EXPECT_EQ(errorOf(own), expected + ", whose variables are all on servers, found 'own' with the workers");
  // As `parameter_server_sync` does it with one replica: nobody else can change the variable.
  TestProgram direct(1);
  uint32_t rank = direct.role("server");
  uint32_t group = direct.group({0, rank});
  uint32_t variable = direct.variable("v", ElementType::i64, {});
  uint32_t pull = direct.channel();
  direct.start(CollectiveKind::broadcast, Reduction::none, pull, {variable}, {}, group, 0, int32_t(rank));
  direct.wait(pull);
  direct.ret();
  direct.in("worker");
  uint32_t pulled = direct.buffer(Space::replica, ElementType::i64, {});
  direct.start(CollectiveKind::broadcast, Reduction::none, direct.channel(pull), {}, {pulled}, group, 0, int32_t(rank));
  direct.wait(pull);
  direct.ret();
  EXPECT_EQ(errorOf(good, {.session = {.checkMirrored = 2}}), "expected no checkMirrored with variables that other sessions change at any time");
  EXPECT_EQ(errorOf(good, {.session = {.checkRaces = true}}), "expected no checkRaces: accesses of different workers are not compared");
  EXPECT_EQ(errorOf(direct), "train.py:42: program 'main': start broadcast channel 0: it works on a variable itself, not on a copy, which "
                             "several workers may change at any time: compile the step with --strategy=parameter_server");
}

TEST(Coordinator, traceHasAllWorkers) {
  std::string path = temporaryFile("coordinator-trace.json");
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {.workers = 2, .session = {.traceFile = path}});
  ASSERT_TRUE(coordinator->schedule(adds(1)).ok());
  ASSERT_TRUE(coordinator->join().ok());
  ASSERT_TRUE(coordinator->writeTrace().ok());
  nlohmann::json trace = nlohmann::json::parse(std::ifstream(path));
  std::set<std::string> processes;
  for (const nlohmann::json &event : trace["traceEvents"])
    if (event["name"] == "process_name")
      processes.insert(event["args"]["name"]);
  EXPECT_EQ(processes, (std::set<std::string>{"worker 0: replica 0", "worker 0: server0", "worker 0: server1", "worker 1: replica 0",
                                              "worker 1: server0", "worker 1: server1"}));
  EXPECT_EQ(coordinatorOf(p, {})->writeTrace().message(), "no trace was asked for when the coordinator was created");
}

} // namespace

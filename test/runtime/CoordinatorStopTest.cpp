//===- CoordinatorStopTest.cpp - cancellation and abort -------------------===//

#include "Coordinators.h"

#include <atomic>
#include <thread>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

// Functions that have begun end, others never begin, whether scheduled before
// or after `cancel`; none of this is an error.
TEST(Coordinator, cancels) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {});
  Gate gate;
  Expected<ScheduledFunction> first = coordinator->schedule(gate.then(adds(1))),
                              second = coordinator->schedule(adds(10));
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

const Status interruption(StatusCode::interrupted, "aborted");

// Nothing runs in an aborted lane, and it is not replaced by one that is not
// aborted: neither for functions that have begun nor for later ones.
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
  Expected<ScheduledFunction> first =
      coordinator->schedule(gate.then(adds(10)));
  gate.awaitBegin();
  coordinator->abort(interruption);
  coordinator->abort({StatusCode::interrupted, "again"});
  gate.mayEnd = true;
  EXPECT_FALSE(first->wait().ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(coordinator
                  ->schedule([&](Cluster &, unsigned) {
                    called = true;
                    return Status::success();
                  })
                  .status()
                  .message(),
              "aborted");
    EXPECT_EQ(coordinator->join().code(), StatusCode::interrupted);
    EXPECT_EQ(coordinator->done().status().message(), "aborted");
  }
  EXPECT_FALSE(called);
  EXPECT_EQ(made, coordinator->workers());
  for (unsigned worker = 0; worker < coordinator->workers(); ++worker)
    EXPECT_TRUE(coordinator->lane(worker).poisoned());
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 1);
}

// Functions that had not begun are cancelled.
TEST(Coordinator, abortCancels) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {});
  Gate gate;
  Expected<ScheduledFunction> first = coordinator->schedule(gate.then(adds(1))),
                              second = coordinator->schedule(adds(10));
  gate.awaitBegin();
  coordinator->abort(interruption);
  EXPECT_EQ(second->wait().message(), "cancelled: aborted");
  gate.mayEnd = true;
  EXPECT_EQ(coordinator->join().message(), "aborted");
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
  Expected<ScheduledFunction> function =
      coordinator->schedule([&](Cluster &, unsigned) {
        called = true;
        return Status::success();
      });
  while (made < 2)
    std::this_thread::yield();
  coordinator->abort(interruption);
  isAborted = true;
  EXPECT_EQ(function->wait().message(), "aborted");
  EXPECT_EQ(coordinator->join().message(), "aborted");
  EXPECT_FALSE(called);
  EXPECT_EQ(&coordinator->lane(), lane);
}

} // namespace

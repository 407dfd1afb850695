//===- CoordinatorTest.cpp - workers that take steps on their own ---------===//

#include "Coordinators.h"

#include <array>
#include <atomic>
#include <barrier>
#include <thread>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

INSTANTIATE_TEST_SUITE_P(Workers, CoordinatorOf,
                         testing::Combine(testing::Values(1, 2, 3, 5),
                                          testing::Values(1, 12)));

// Whatever the order, no update is lost, and no value is read while it is half
// written: neither by steps nor from outside. [8-asynchronous]
TEST_P(CoordinatorOf, updatesAddUp) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, options());
  constexpr int64_t steps = 300;
  std::vector<ScheduledFunction> scheduled;
  std::atomic<int64_t> seen{0};
  for (int64_t i = 1; i <= steps; ++i) {
    Expected<ScheduledFunction> function =
        coordinator->schedule([&, i](Cluster &lane, unsigned worker) {
          EXPECT_LT(worker, coordinator->workers());
          LOCKSTEP_RETURN_IF_ERROR(step(lane, i));
          for (unsigned output : {0u, 1u})
            EXPECT_LE(wholeValue(lane.output(0, output)),
                      steps * (steps + 1) / 2);
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
  EXPECT_EQ(wholeValue(coordinator->lane().variable("v0")->read()),
            steps * (steps + 1) / 2);
  EXPECT_EQ(coordinator->completedRuns(), uint64_t(steps));
  // Each variable is sent with its size.
  Cluster::ServerTraffic traffic = coordinator->serverTraffic();
  EXPECT_EQ(traffic.toServers, traffic.fromServers);
  EXPECT_EQ(traffic.fromServers % steps, 0u);
  EXPECT_GT(traffic.fromServers, uint64_t(steps) * 2 * sizeof(Values));
}

/// a += x and b += x through other memory, as compiled if an update cannot be
/// made in place.
void buildCopied(TestProgram &p) {
  uint32_t rank = p.role("server");
  uint32_t group = p.group({0, rank});
  uint32_t a = p.variable("a", ElementType::i64, {elements}),
           b = p.variable("b", ElementType::i64, {elements});
  uint32_t given = p.buffer(Space::replica, ElementType::i64, {elements});
  uint32_t next = p.buffer(Space::replica, ElementType::i64, {elements});
  uint32_t values[2] = {p.buffer(Space::replica, ElementType::i64, {elements}),
                        p.buffer(Space::replica, ElementType::i64, {elements})};
  uint32_t push = p.channel(), pulls[2] = {p.channel(), p.channel()};
  p.start(CollectiveKind::broadcast, Reduction::none, push, {}, {given}, group,
          0, 0);
  p.wait(push);
  for (uint32_t variable : {a, b}) {
    p.copy(variable, next);
    p.launch("add_64", {next, given}, {next});
    p.copy(next, variable);
  }
  p.copy(a, values[0]);
  p.copy(b, values[1]);
  for (int i = 0; i < 2; ++i) {
    p.start(CollectiveKind::broadcast, Reduction::none, pulls[i], {values[i]},
            {}, group, 0, int32_t(rank));
    p.wait(pulls[i]);
  }
  p.ret();
  p.in("worker");
  uint32_t x = p.input("x", ElementType::i64, {elements});
  p.start(CollectiveKind::broadcast, Reduction::none, p.channel(push), {x}, {},
          group, 0, 0);
  p.wait(push);
  for (int i = 0; i < 2; ++i) {
    uint32_t pulled = p.buffer(Space::replica, ElementType::i64, {elements});
    p.output(i ? "b" : "a", pulled);
    p.start(CollectiveKind::broadcast, Reduction::none, p.channel(pulls[i]), {},
            {pulled}, group, 0, int32_t(rank));
    p.wait(pulls[i]);
  }
  p.ret();
}

// Several commands between two waits are one update: of one variable, and of
// several on one server.
TEST_P(CoordinatorOf, commandsBetweenWaitsAreOneUpdate) {
  TestProgram p(1);
  buildCopied(p);
  auto coordinator = coordinatorOf(p, options());
  constexpr int64_t steps = 300;
  for (int64_t i = 1; i <= steps; ++i)
    ASSERT_TRUE(coordinator
                    ->schedule([i](Cluster &lane, unsigned) {
                      Status status = step(lane, i);
                      EXPECT_EQ(wholeValue(lane.output(0, "a")),
                                wholeValue(lane.output(0, "b")));
                      return status;
                    })
                    .ok());
  ASSERT_TRUE(coordinator->join().ok());
  for (std::string_view name : {"a", "b"})
    EXPECT_EQ(wholeValue(*coordinator->read(name)), steps * (steps + 1) / 2);
}

// One worker executes the functions in order, and each step sees the updates of
// all earlier ones. [8-coordinator]
TEST(Coordinator, oneWorkerIsInOrder) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {});
  std::vector<int64_t> seen;
  for (int64_t i = 1; i <= 20; ++i)
    ASSERT_TRUE(coordinator
                    ->schedule([&, i](Cluster &lane, unsigned) {
                      Status status = step(lane, i);
                      seen.push_back(wholeValue(lane.output(0, "v0")));
                      return status;
                    })
                    .ok());
  ASSERT_TRUE(coordinator->join().ok());
  for (int64_t i = 0; i < 20; ++i)
    EXPECT_EQ(seen[size_t(i)], i * (i + 1) / 2);
}

// All workers work at the same time: each of these functions waits for the
// others.
TEST(Coordinator, workersAreIndependent) {
  TestProgram p(1);
  build(p);
  auto coordinator =
      coordinatorOf(p, {.workers = 3, .session = {.workers = 1}});
  std::barrier rendezvous(3);
  std::array<std::atomic<int>, 3> calls{};
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(coordinator
                    ->schedule([&](Cluster &lane, unsigned worker) {
                      rendezvous.arrive_and_wait();
                      ++calls[worker];
                      return step(lane, 1);
                    })
                    .ok());
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

// Functions that have not begun when the coordinator is destroyed are
// cancelled; others end.
TEST(Coordinator, destructionCancels) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {});
  std::atomic<bool> begun{false}, mayEnd{false};
  Expected<ScheduledFunction> first =
      coordinator->schedule([&](Cluster &, unsigned) {
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
  EXPECT_EQ(second->wait().message(),
            "cancelled: the coordinator has been destroyed");
  EXPECT_FALSE(first->isOver());
  mayEnd = true;
  EXPECT_TRUE(first->wait().ok());
  destroyer.join();
}

} // namespace

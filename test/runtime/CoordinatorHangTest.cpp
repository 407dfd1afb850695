//===- CoordinatorHangTest.cpp - kernels that never end -------------------===//

#include "Coordinators.h"
#include "HangingKernel.h"

#include <atomic>
#include <barrier>
#include <thread>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

// A kernel that never ends, on the worker's own thread: join returns, others
// continue, and the coordinator can be destroyed.
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
  callHanging(p);
  p.patch(branch);
  p.barrier(p.channel(0), 1);
  p.ret();
  std::atomic<int> reported{0};
  CoordinatorOptions options{.workers = 2,
                             .session = {.workers = 1, .clock = &mine->clock}};
  options.adapt = [](unsigned worker, SessionOptions &session) {
    if (worker == 1)
      session.clock = nullptr;
  };
  options.session.onDeadline = [&](const DeadlineReport &) {
    ++reported;
    hang.load()->clock.poke();
  };
  auto coordinator = coordinatorOf(p, options);
  std::barrier rendezvous(2);
  auto function = [&](Cluster &lane, unsigned worker) {
    rendezvous.arrive_and_wait();
    return step(lane, worker == 0 ? ~int64_t(0) : 0);
  };
  Expected<ScheduledFunction> first = coordinator->schedule(function),
                              second = coordinator->schedule(function);
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

// A server that hangs in an update locks its variables forever: reads and
// writes from outside are errors.
TEST(Coordinator, serverThatHangs) {
  Hang *mine = hang = new Hang;
  TestProgram p(1);
  uint32_t rank = p.role("server");
  uint32_t group = p.group({0, rank}), begin = p.channel();
  uint32_t v = p.variable("v", ElementType::i64, {});
  p.barrier(begin, group);
  callHanging(p, {v});
  p.ret();
  p.in("worker");
  p.barrier(p.channel(begin), group);
  p.ret();
  // The watchdog's clock stands still.
  auto coordinator = coordinatorOf(
      p, {.workers = 1,
          .session = {.workers = 1, .deadline = 1ms, .clock = &mine->clock}});
  int64_t value = 7;
  ASSERT_TRUE(coordinator->write("v", bytesOf(value)).ok());
  ASSERT_TRUE(
      coordinator
          ->schedule([](Cluster &lane, unsigned) { return lane.run("main"); })
          .ok());
  while (!mine->hangs)
    std::this_thread::yield();
  for (const Status &status : {coordinator->read("v").status(),
                               coordinator->write("v", bytesOf(value))}) {
    EXPECT_EQ(status.code(), StatusCode::deadline);
    EXPECT_EQ(status.message(),
              "variable 'v': expected its server to be between two updates "
              "within 0.001 s, found it in one");
  }
  mine->mayReturn = true;
  EXPECT_TRUE(coordinator->join().ok());
  EXPECT_EQ(coordinator->read("v")->front(), std::byte(7));
}

} // namespace

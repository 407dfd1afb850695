//===- DeadlineKernelTest.cpp - the watchdog and kernels that hang --------===//
//
// Time is a fake clock's. Nothing here sleeps: a test waits until a kernel
// hangs.
//
//===----------------------------------------------------------------------===//

#include "HangingKernel.h"

#include <atomic>
#include <thread>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

// A kernel that hangs in another thread than the caller's: the run returns, the
// report says which kernel it is, and the session can be destroyed while the
// kernel is still running.
TEST(DeadlineKernel, hangs) {
  hang = new Hang;
  TestProgram p(2);
  uint32_t isSecond = p.variable("is_second", ElementType::i1, {}, true);
  uint32_t branch = p.branchUnless(isSecond);
  callHanging(p);
  uint32_t end = p.jump(0);
  p.patch(branch);
  callWaitingForHang(p);
  p.patch(end);
  p.barrier(p.channel());
  p.ret();
  // The calling thread begins with replica 0, which keeps it busy until the
  // other one hangs.
  auto session = p.session({.workers = 2, .clock = &hang.load()->clock});
  session->variable("is_second", 1)[0] = std::byte(1);
  Status status = runWithTimeWhen(*session, hang.load()->clock, 30s, [&] {
    return hang.load()->hangs && session->idleWorkers() > 0;
  });
  EXPECT_EQ(status.code(), StatusCode::deadline);
  // On a device with queues, the replica whose kernel hangs can arrive at the
  // barrier.
  if (isOnHostDevice())
    EXPECT_NE(status.message().find("waiting for channel 0 (barrier"),
              std::string::npos)
        << status.message();
  EXPECT_NE(
      status.message().find(runningText(1, "1 'launch 'call'' (train.py:42)")),
      std::string::npos)
      << status.message();
  session.reset();
  hang.load()->mayReturn = true;
}

// While a kernel hangs, other sessions on its device begin and end.
TEST(DeadlineKernel, doesNotKeepOtherSessions) {
  Hang *mine = hang = new Hang;
  TestProgram p(1);
  callHanging(p);
  p.ret();
  auto session = p.session({.workers = 1});
  Status status;
  std::thread runner([&] { status = session->run("main"); });
  while (!mine->hangs)
    std::this_thread::yield();
  TestProgram q(1);
  uint32_t x = q.variable("x", ElementType::i64, {});
  q.launch("add", {x, x}, {x});
  q.ret();
  for (int i = 0; i < 3; ++i) {
    auto other = q.session({.workers = 1});
    other->variable("x")[0] = std::byte(4);
    EXPECT_TRUE(other->run("main").ok());
    EXPECT_EQ(other->variable("x")[0], std::byte(8));
  }
  EXPECT_FALSE(mine->hasReturned);
  mine->mayReturn = true;
  runner.join();
  EXPECT_TRUE(status.ok()) << status.message();
}

/// A launch whose tiles are shared. Never freed, like `Hang`.
struct SharedLaunch : Hang {
  std::thread::id owner;
  std::atomic<bool> hasOwner{false};
};
std::atomic<SharedLaunch *> sharedLaunch;

// A kernel that hangs in a tile that the caller has shared with another worker:
// the run returns, and the kernel's memory outlives the session. The kernel
// writes to it when it finally returns.
TEST(DeadlineKernel, hangsInASharedTile) {
  if (!isOnHostDevice())
    GTEST_SKIP() << "workers share tiles of host devices alone";
  SharedLaunch *mine = sharedLaunch = new SharedLaunch;
  TestProgram p(2);
  uint32_t isSecond = p.variable("is_second", ElementType::i1, {}, true);
  uint32_t written = p.buffer(Space::replica, ElementType::i64, {});
  uint32_t branch = p.branchUnless(isSecond);
  // The calling thread begins with replica 0; the other one takes no replica
  // before it has.
  p.call([](void *) {
    while (!sharedLaunch.load()->hasOwner)
      std::this_thread::yield();
  });
  uint32_t end = p.jump(0);
  p.patch(branch);
  p.call([](void *) {
    sharedLaunch.load()->owner = std::this_thread::get_id();
    sharedLaunch.load()->hasOwner = true;
  });
  p.call(
      [](void *buffer) {
        SharedLaunch *mine = sharedLaunch;
        bool isOwner = std::this_thread::get_id() == mine->owner;
        mine->hangs = mine->hangs || !isOwner;
        while (isOwner ? !mine->hangs : !mine->mayReturn)
          std::this_thread::yield();
        if (isOwner)
          return;
        *static_cast<int64_t *>(buffer) = 1;
        mine->hasReturned = true;
      },
      {}, {written}, /*tiles=*/true);
  p.patch(end);
  p.barrier(p.channel());
  p.ret();
  auto session = p.session({.workers = 2, .clock = &mine->clock});
  session->variable("is_second", 1)[0] = std::byte(1);
  Status status = runWithTimeWhen(*session, mine->clock, 30s,
                                  [&] { return mine->hangs.load(); });
  EXPECT_EQ(status.code(), StatusCode::deadline);
  EXPECT_NE(
      status.message().find("replica 0: running command 4 'launch "
                            "'call_tiles'' (train.py:42) on worker 0, tile "),
      std::string::npos)
      << status.message();
  EXPECT_EQ(session->run("main").code(), StatusCode::poisoned);
  session.reset();
  mine->mayReturn = true;
  while (!mine->hasReturned)
    std::this_thread::yield();
}

// One replica fails while another one is inside of a kernel that never ends:
// the run returns, with the error, after the deadline.
TEST(DeadlineKernel, hangsAfterAnError) {
  hang = new Hang;
  TestProgram p(2);
  uint32_t isSecond = p.variable("is_second", ElementType::i1, {}, true);
  uint32_t n = p.reg();
  uint32_t bounded =
      p.dynamicBuffer(Space::replica, ElementType::f32, {-1}, {int32_t(n)}, 8);
  p.setRegister(n, 100);
  uint32_t branch = p.branchUnless(isSecond);
  callHanging(p);
  p.patch(branch);
  callWaitingForHang(p);
  p.launch("nothing", {bounded}, {});
  p.ret();
  auto session = p.session({.workers = 2, .clock = &hang.load()->clock});
  session->variable("is_second", 1)[0] = std::byte(1);
  Status status = runWithTimeWhen(*session, hang.load()->clock, 30s,
                                  [&] { return session->poisoned(); });
  EXPECT_EQ(status.code(), StatusCode::outOfRange);
  // On a device with queues, replica 0 has enqueued its commands before replica
  // 1 begins.
  std::string running = isOnHostDevice()
                            ? "replica 1: running command 2 'launch 'call''"
                            : "its device: running command ";
  EXPECT_NE(session->deadlineReport().text.find(running), std::string::npos)
      << session->deadlineReport().text;
  session.reset();
  // If replica 1 has not begun, replica 0's kernel still waits for it.
  hang.load()->hangs = true;
  hang.load()->mayReturn = true;
}

} // namespace

//===- FakeClock.h - a clock controlled by tests ----------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_FAKECLOCK_H
#define LOCKSTEP_TEST_RUNTIME_FAKECLOCK_H

#include "runtime/support/Clock.h"
#include "runtime/support/Status.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace lockstep::runtime::test {

class FakeClock final : public Clock {
public:
  Duration now() override {
    std::lock_guard<std::mutex> lock(mutex);
    return time;
  }

  void waitUntil(std::unique_lock<std::mutex> &lock,
                 std::condition_variable &condition, Duration until) override {
    std::unique_lock<std::mutex> own(mutex);
    if (until <= time)
      return;
    ++waits;
    waiterMutex = lock.mutex();
    waiter = &condition;
    changed.notify_all();
    own.unlock();
    // Woken by `advance` or by the owner of the condition.
    condition.wait(lock);
    own.lock();
    waiter = nullptr;
  }

  /// Lets time pass and then waits until the watchdog has taken a sample and
  /// waits again, so that it takes one after each call. Does not wait if
  /// `isOver` becomes true.
  template <typename IsOver> void advance(Duration duration, IsOver isOver) {
    std::unique_lock<std::mutex> own(mutex);
    changed.wait(own, [&] { return waiter || isOver(); });
    if (isOver())
      return;
    time += duration;
    uint64_t before = waits;
    std::mutex *other = waiterMutex;
    std::condition_variable *condition = waiter;
    own.unlock();
    {
      // Holding the waiter's mutex once makes sure that it is inside of its
      // wait.
      std::lock_guard<std::mutex> lock(*other);
    }
    condition->notify_all();
    own.lock();
    changed.wait(own, [&] { return waits != before || isOver(); });
  }

  /// Makes `advance` check its condition again.
  void poke() {
    std::lock_guard<std::mutex> lock(mutex);
    changed.notify_all();
  }

  /// Advances the time only, as a slow kernel does.
  void jump(Duration duration) {
    std::lock_guard<std::mutex> lock(mutex);
    time += duration;
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  Duration time = std::chrono::hours(1);
  uint64_t waits = 0;
  std::mutex *waiterMutex = nullptr;
  std::condition_variable *waiter = nullptr;
};

/// Runs "main" of a session or cluster in another thread and lets time pass,
/// once `isReady`, until the run returns.
template <typename Session, typename IsReady>
Status runWithTimeWhen(Session &session, FakeClock &clock, Clock::Duration step,
                       IsReady isReady) {
  Status status;
  std::atomic<bool> over{false};
  std::thread runner([&] {
    status = session.run("main");
    over = true;
    clock.poke();
  });
  while (!over && !isReady())
    std::this_thread::yield();
  while (!over)
    clock.advance(step, [&] { return over.load(); });
  runner.join();
  return status;
}

/// The same, once `idle` workers have nothing left to do.
template <typename Session>
Status runWithTime(Session &session, FakeClock &clock, Clock::Duration step,
                   unsigned idle) {
  // A message between executors wakes an idle worker: only if all are idle
  // twice, none is awake.
  unsigned idleSamples = 0;
  return runWithTimeWhen(session, clock, step, [&] {
    idleSamples = session.idleWorkers() >= idle ? idleSamples + 1 : 0;
    return idleSamples == 2;
  });
}

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_FAKECLOCK_H

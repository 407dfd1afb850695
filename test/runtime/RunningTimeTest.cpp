//===- RunningTimeTest.cpp - time without suspensions ---------------------===//

#include "runtime/support/RunningTime.h"
#include "runtime/executor/Watchdog.h"

#include <condition_variable>
#include <future>
#include <mutex>

#include <gtest/gtest.h>

using namespace lockstep::runtime;
using namespace std::chrono_literals;

namespace {

/// Each wait ends `late` after it was to end, as in a process that is stopped
/// meanwhile.
struct LateClock final : Clock {
  Duration now() override { return time; }
  void waitUntil(std::unique_lock<std::mutex> &, std::condition_variable &,
                 Duration until) override {
    time = until + late;
  }

  Duration time = 1h, late{};
};

Clock::Duration afterWaits(LateClock &clock, int waits) {
  RunningTime time(clock, 1s);
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock<std::mutex> lock(mutex);
  for (int i = 0; i < waits; ++i)
    time.wait(lock, condition);
  return time.now();
}

TEST(RunningTime, suspensionsDoNotCount) {
  LateClock punctual, busy, stopped;
  busy.late = 500ms;
  stopped.late = 24h;
  EXPECT_EQ(afterWaits(punctual, 8), 8s);
  EXPECT_EQ(afterWaits(busy, 8), 12s);
  EXPECT_EQ(afterWaits(stopped, 8), 16s);
}

// After a suspension that is longer than the deadline, the awaited threads
// still have time.
TEST(RunningTime, watchdogSamplesSeveralTimes) {
  LateClock clock;
  clock.late = 24h;
  std::promise<int> samplesBeforeExpiry;
  int samples = 0;
  Watchdog watchdog(
      clock, 8s,
      [&] {
        ++samples;
        return Watchdog::Sample{1, 0, 0};
      },
      [&](uint64_t) {
        samplesBeforeExpiry.set_value(samples);
        return true;
      },
      [](uint64_t, Clock::Duration) {});
  // The first sample finds a new run; of each later wait two of eight seconds
  // count.
  EXPECT_EQ(samplesBeforeExpiry.get_future().get(), 5);
}

} // namespace

//===- SignalsTest.cpp - results of runs after signals --------------------===//

#include "runtime/training/Signals.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <future>
#include <unistd.h>

#include <gtest/gtest.h>

using namespace lockstep::training;
using namespace lockstep::runtime;

namespace {

std::atomic<int64_t> milliseconds = 0;

// A run that is aborted between two steps fails only at the next one, as
// poisoned: this is the interruption, too.
TEST(StopSignals, whateverFailsAfterwardsIsTheInterruption) {
  std::promise<void> stopped;
  std::promise<int> forced;
  StopSignals signals(
      1e6, [&] { stopped.set_value(); },
      [&](int signal, const std::string &) { forced.set_value(signal); });
  setSignalClock([] { return milliseconds.load(); });
  // Here, so that each has been handled when `raise` returns.
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGINT);
  sigaddset(&both, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &both, nullptr);
  const Status failure(StatusCode::poisoned,
                       "the session was poisoned by an earlier error");
  EXPECT_EQ(signals.outcome(failure).message(), failure.message());
  EXPECT_EQ(stopSignal(), 0);
  raise(SIGTERM);
  stopped.get_future().wait();
  EXPECT_EQ(stopSignal(), SIGTERM);
  // A repetition of the same request.
  milliseconds += 499;
  raise(SIGTERM);
  raise(SIGINT);
  // The current step may fail by itself.
  EXPECT_EQ(signals.outcome(failure).message(), failure.message());
  milliseconds += 1;
  raise(SIGTERM);
  EXPECT_EQ(forced.get_future().get(), SIGTERM);
  EXPECT_EQ(signals.outcome(failure).code(), StatusCode::interrupted);
  EXPECT_EQ(signals.outcome(failure).message(),
            "aborted at the second signal, SIGTERM");
  EXPECT_TRUE(signals.outcome(Status::success()).ok());
  // Another request would end the process now; a repetition does not.
  milliseconds += 499;
  raise(SIGTERM);
}

TEST(StopSignalsDeathTest, aRepetitionAfterwardsDoesNotCount) {
  setSignalClock([] { return milliseconds.load(); });
  EXPECT_EXIT(
      {
        {
          std::promise<void> stopped;
          StopSignals signals(
              1e6, [&] { stopped.set_value(); },
              [](int, const std::string &) {});
          kill(getpid(), SIGINT);
          stopped.get_future().wait();
        }
        milliseconds += 499;
        raise(SIGINT);
        std::fputs("saved", stderr);
        milliseconds += 1;
        raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "saved");
}

} // namespace

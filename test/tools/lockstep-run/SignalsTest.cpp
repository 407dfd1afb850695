//===- SignalsTest.cpp - what a run has come to after signals -------------===//

#include "tools/lockstep-run/Signals.h"

#include <csignal>
#include <future>
#include <unistd.h>

#include <gtest/gtest.h>

using namespace lockstep::run;
using namespace lockstep::runtime;

namespace {

// A run that is given up between two steps finds out only at the next one, which says that it is poisoned: that is the interruption too.
TEST(StopSignals, whateverFailsAfterwardsIsTheInterruption) {
  std::promise<void> stopped;
  std::promise<int> givenUp;
  StopSignals signals(1e6, [&] { stopped.set_value(); }, [&](int signal, const std::string &) { givenUp.set_value(signal); });
  const Status failure(StatusCode::poisoned, "the session was poisoned by an earlier error");
  EXPECT_EQ(signals.outcome(failure).message(), failure.message());
  EXPECT_EQ(stopSignal(), 0);
  kill(getpid(), SIGTERM);
  stopped.get_future().wait();
  EXPECT_EQ(stopSignal(), SIGTERM);
  // The step at hand may fail by itself.
  EXPECT_EQ(signals.outcome(failure).message(), failure.message());
  kill(getpid(), SIGTERM);
  EXPECT_EQ(givenUp.get_future().get(), SIGTERM);
  EXPECT_EQ(signals.outcome(failure).code(), StatusCode::interrupted);
  EXPECT_EQ(signals.outcome(failure).message(), "given up at the second signal, SIGTERM");
  EXPECT_TRUE(signals.outcome(Status::success()).ok());
}

} // namespace

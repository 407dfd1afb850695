//===- FileWatchTest.cpp - files that take long ---------------------------===//

#include "FakeClock.h"

#include "runtime/training/FileWatch.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>

using namespace lockstep::training;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

/// The beginning of messages.
char programName[] = "lockstep-run";

class FileWatchTest : public testing::Test {
protected:
  void SetUp() override { program_invocation_short_name = programName; }

  /// The messages during `seconds`.
  std::string during(int seconds) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < seconds; ++i)
      clock.advance(1s, [] { return false; });
    return testing::internal::GetCapturedStderr();
  }

  FakeClock clock;
  FileWatch watch{60s, clock};
};

// Again after twice the time, as long as it takes.
TEST_F(FileWatchTest, saysWhatTakesLong) {
  FileWatch::Scope scope(watch, "writing 'out'");
  EXPECT_EQ(during(55), "");
  EXPECT_EQ(during(20), "lockstep-run: writing 'out' has taken 60 s so far and "
                        "goes on; a signal ends the run\n");
  EXPECT_EQ(during(100), "lockstep-run: writing 'out' has taken 120 s so far "
                         "and goes on; a signal ends the run\n");
}

TEST_F(FileWatchTest, saysNothingOfManyThatAreShort) {
  for (int i = 0; i < 10; ++i) {
    FileWatch::Scope scope(watch, "writing 'out'");
    EXPECT_EQ(during(30), "");
  }
  EXPECT_EQ(during(200), "");
}

// Each operation has its own time; the first one is reported as long as it
// lasts.
TEST_F(FileWatchTest, twoAtATime) {
  std::optional<FileWatch::Scope> first(std::in_place, watch, "reading 'a'");
  EXPECT_EQ(during(30), "");
  FileWatch::Scope second(watch, "reading 'b'");
  EXPECT_EQ(during(45), "lockstep-run: reading 'a' has taken 60 s so far and "
                        "goes on; a signal ends the run\n");
  first.reset();
  EXPECT_EQ(during(55), "");
  EXPECT_EQ(during(20), "lockstep-run: reading 'b' has taken 60 s so far and "
                        "goes on; a signal ends the run\n");
}

} // namespace

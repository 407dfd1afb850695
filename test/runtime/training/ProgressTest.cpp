//===- ProgressTest.cpp - the progress of a run ---------------------------===//

#include "runtime/training/Progress.h"

#include <gtest/gtest.h>

using namespace lockstep::training;

namespace {

TEST(Progress, ratesHaveThreeDigits) {
  EXPECT_EQ(rateText(1250.4), "1250 steps/s");
  EXPECT_EQ(rateText(100), "100 steps/s");
  EXPECT_EQ(rateText(34), "34.0 steps/s");
  EXPECT_EQ(rateText(3.427), "3.43 steps/s");
  EXPECT_EQ(rateText(0.0041666), "0.00417 steps/s");
  EXPECT_EQ(rateText(0), "0.00 steps/s");
}

} // namespace

//===- TableTest.cpp - numbers in tables ----------------------------------===//

#include "tools/support/Table.h"

#include <gtest/gtest.h>

#include <limits>

using namespace lockstep::tools;

namespace {

TEST(Table, MomentsHaveTheDigitsOfTheWhole) {
  EXPECT_EQ(momentText(0.16555, 0.18), "165.6 ms");
  EXPECT_EQ(momentText(0.00316, 0.0343), "3.16 ms");
  EXPECT_EQ(momentText(45.59e-6, 156e-6), "45.6 us");
  EXPECT_EQ(momentText(1.23456, 2), "1.235 s");
  EXPECT_EQ(momentText(0, 0.18), "0.0 ms");
  EXPECT_EQ(momentText(25e-6, 0.54), "25.0 us");
  EXPECT_EQ(momentText(0, 0), "0.000000 us");
  EXPECT_EQ(momentText(1, std::numeric_limits<double>::infinity()), "1.00 s");
}

TEST(Table, SharesOfNothingAreZero) {
  EXPECT_EQ(percentText(1, 8), "12.5 %");
  EXPECT_EQ(percentText(0, 0), "0.0 %");
}

} // namespace

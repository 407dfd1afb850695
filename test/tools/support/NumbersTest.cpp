//===- NumbersTest.cpp - numbers on command lines -------------------------===//

#include "tools/support/Numbers.h"

#include <gtest/gtest.h>

using namespace lockstep::tools;

namespace {

constexpr uint64_t mostUnsigned = std::numeric_limits<uint64_t>::max();
constexpr int64_t leastSigned = std::numeric_limits<int64_t>::min();
constexpr uint64_t mostSigned = std::numeric_limits<int64_t>::max();

TEST(Numbers, inTheirRange) {
  for (const char *text : {"0", "1", "100", "18446744073709551615"})
    EXPECT_EQ(checkNumber(text, 0, mostUnsigned), "") << text;
  for (const char *text :
       {"-9223372036854775808", "-1", "-0", "0", "9223372036854775807"})
    EXPECT_EQ(checkNumber(text, leastSigned, mostSigned), "") << text;
}

TEST(Numbers, tooSmall) {
  EXPECT_EQ(checkNumber("0", 1, mostUnsigned),
            "expected a number of at least 1, found 0");
  EXPECT_EQ(checkNumber("-0", 1, mostUnsigned),
            "expected a number of at least 1, found -0");
  EXPECT_EQ(checkNumber("-1", 0, mostUnsigned),
            "expected a number of at least 0, found -1");
  EXPECT_EQ(checkNumber("-6", -5, mostSigned),
            "expected a number of at least -5, found -6");
  EXPECT_EQ(checkNumber("-9223372036854775809", leastSigned, mostSigned),
            "expected a number of at least -9223372036854775808, found "
            "-9223372036854775809");
  EXPECT_EQ(checkNumber("-99999999999999999999", leastSigned, mostSigned),
            "expected a number of at least -9223372036854775808, found "
            "-99999999999999999999");
}

TEST(Numbers, tooLarge) {
  EXPECT_EQ(checkNumber("8", 0, 7), "expected a number of at most 7, found 8");
  EXPECT_EQ(checkNumber("18446744073709551616", 0, mostUnsigned),
            "expected a number of at most 18446744073709551615, found "
            "18446744073709551616");
}

TEST(Numbers, thatAreNone) {
  for (std::string text : {"", "-", "x", "1x", "1.5", "0x4", "010", "-01", "+1",
                           " 1", "1 ", "--1"})
    EXPECT_EQ(checkNumber(text, 0, mostUnsigned),
              "expected a number, found '" + text + "'");
}

TEST(Numbers, real) {
  for (const char *text : {"1", "0.5", "1e-9", "7"})
    EXPECT_EQ(checkReal(text, /*mayBeZero=*/false, 7), "") << text;
  EXPECT_EQ(checkReal("0", /*mayBeZero=*/true, 7), "");
  for (std::string text : {"", "0", "-1", "8", "nan", "inf", "1e999", "1x"})
    EXPECT_EQ(checkReal(text, /*mayBeZero=*/false, 7),
              "expected a positive number of at most 7, found '" + text + "'");
  EXPECT_EQ(checkReal("-1", /*mayBeZero=*/true, 1e9),
            "expected 0 or a positive number of at most 1000000000, found "
            "'-1'");
}

TEST(Numbers, usageErrorsBeginAsOurs) {
  EXPECT_EQ(describeUsageError("The file is required"),
            "the file is required (see --help)");
  EXPECT_EQ(describeUsageError("-O: 5 not in {0,2}"),
            "-O: 5 not in {0,2} (see --help)");
  EXPECT_EQ(describeUsageError("INI expected"), "INI expected (see --help)");
}

} // namespace

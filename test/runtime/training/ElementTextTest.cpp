//===- ElementTextTest.cpp - elements as numbers and text -----------------===//

#include "runtime/training/ElementText.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace lockstep;
using namespace lockstep::training;

namespace {

template <typename T> std::string json(ElementType element, T value) {
  std::string out;
  appendJson(out, element, reinterpret_cast<const std::byte *>(&value));
  return out;
}

template <typename T> T parsed(ElementType element, std::string_view text) {
  runtime::Expected<std::vector<std::byte>> bytes = parseElement(element, text);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  T value{};
  EXPECT_EQ(bytes->size(), sizeof(T));
  std::memcpy(&value, bytes->data(), sizeof(T));
  return value;
}

std::string errorOf(ElementType element, std::string_view text) {
  return parseElement(element, text).status().message();
}

} // namespace

// As few digits as identify the value, and never more than that.
TEST(Elements, WritesJson) {
  EXPECT_EQ(json(ElementType::f32, 0.1f), "0.1");
  EXPECT_EQ(json(ElementType::f32, 1.0f / 3), "0.33333334");
  EXPECT_EQ(json(ElementType::f32, 1e-30f), "1e-30");
  EXPECT_EQ(json(ElementType::f64, 0.1), "0.1");
  EXPECT_EQ(json(ElementType::f64, 1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(json(ElementType::f16, uint16_t(0x3555)), "0.33325195");
  EXPECT_EQ(json(ElementType::bf16, uint16_t(0x3f80)), "1");
  EXPECT_EQ(json(ElementType::i8, int8_t(-3)), "-3");
  EXPECT_EQ(json(ElementType::u64, std::numeric_limits<uint64_t>::max()),
            "18446744073709551615");
  EXPECT_EQ(json(ElementType::i64, std::numeric_limits<int64_t>::min()),
            "-9223372036854775808");
  EXPECT_EQ(json(ElementType::i1, uint8_t(1)), "true");
  EXPECT_EQ(json(ElementType::f32, std::numeric_limits<float>::infinity()),
            "\"inf\"");
  EXPECT_EQ(json(ElementType::f64, -std::numeric_limits<double>::infinity()),
            "\"-inf\"");
  EXPECT_EQ(json(ElementType::f16, uint16_t(0x7e00)), "\"nan\"");
}

TEST(Elements, WritesTensors) {
  std::vector<int32_t> values = {1, -2, 3};
  std::string out;
  appendJson(out, {ElementType::i32, {3}, 12},
             std::as_bytes(std::span(values)));
  EXPECT_EQ(out, "[1,-2,3]");
}

// Whatever sign a NaN has.
TEST(Elements, NanHasNoSign) {
  float nan = -std::numeric_limits<float>::quiet_NaN();
  double value =
      toDouble(ElementType::f32, reinterpret_cast<const std::byte *>(&nan));
  EXPECT_TRUE(std::isnan(value));
  EXPECT_FALSE(std::signbit(value));
}

// All values of the 16-bit types survive a round trip through text.
TEST(Elements, RoundTripsSmallFloats) {
  for (ElementType element : {ElementType::f16, ElementType::bf16})
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      auto value = static_cast<uint16_t>(bits);
      double number =
          toDouble(element, reinterpret_cast<const std::byte *>(&value));
      if (!std::isfinite(number))
        continue;
      EXPECT_EQ(parsed<uint16_t>(element, json(element, value)), value) << bits;
    }
}

TEST(Elements, ParsesNumbers) {
  EXPECT_EQ(parsed<float>(ElementType::f32, "0.1"), 0.1f);
  EXPECT_EQ(parsed<float>(ElementType::f32, "3"), 3.0f);
  EXPECT_EQ(parsed<double>(ElementType::f64, "-1e-3"), -1e-3);
  EXPECT_EQ(parsed<int64_t>(ElementType::i64, "-9223372036854775808"),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(parsed<uint8_t>(ElementType::i1, "true"), 1);
  // Halfway between two values: to even. Beyond the largest one: infinity.
  EXPECT_EQ(parsed<uint16_t>(ElementType::f16, "2049"), 0x6800);
  EXPECT_EQ(parsed<uint16_t>(ElementType::f16, "2051"), 0x6802);
  EXPECT_EQ(parsed<uint16_t>(ElementType::f16, "65519"), 0x7bff);
  EXPECT_EQ(parsed<uint16_t>(ElementType::f16, "65520"), 0x7c00);
  EXPECT_EQ(parsed<uint16_t>(ElementType::f16, "-0"), 0x8000);
}

TEST(Elements, RefusesOtherText) {
  EXPECT_EQ(errorOf(ElementType::f32, "fast"),
            "expected a number for f32, found 'fast'");
  EXPECT_EQ(errorOf(ElementType::f32, "0.1x"),
            "expected a number for f32, found '0.1x'");
  EXPECT_EQ(errorOf(ElementType::f32, ""),
            "expected a number for f32, found ''");
  EXPECT_EQ(errorOf(ElementType::i32, "1.5"),
            "expected an integer from -2147483648 to 2147483647 for i32, found "
            "'1.5'");
  EXPECT_EQ(errorOf(ElementType::u8, "256"),
            "expected an integer from 0 to 255 for u8, found '256'");
  EXPECT_EQ(errorOf(ElementType::i8, "128"),
            "expected an integer from -128 to 127 for i8, found '128'");
  EXPECT_EQ(errorOf(ElementType::u32, "-1"),
            "expected an integer from 0 to 4294967295 for u32, found '-1'");
  EXPECT_EQ(errorOf(ElementType::i1, "yes"),
            "expected true or false, found 'yes'");
}

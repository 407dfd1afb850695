//===- ElementText.cpp - elements as numbers and text ---------------------===//

#include "runtime/training/ElementText.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace lockstep::training {

namespace {

template <typename T> T load(const std::byte *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T> std::vector<std::byte> toBytes(T value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  return {bytes.begin(), bytes.end()};
}

/// IEEE 754 binary16.
float fromHalf(uint16_t half) {
  int exponent = (half >> 10) & 0x1f;
  int mantissa = half & 0x3ff;
  float magnitude =
      exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
      : exponent < 31
          ? std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25)
      : mantissa == 0 ? std::numeric_limits<float>::infinity()
                      : std::numeric_limits<float>::quiet_NaN();
  return half & 0x8000 ? -magnitude : magnitude;
}

/// Rounds to nearest, ties to even.
uint16_t toHalf(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  // From here on the nearest value would be 2^16.
  if (magnitude >= 65520)
    return sign | 0x7c00;
  // Below 2^-14 the values are multiples of 2^-24, and the bits count them.
  // Above, eleven bits of mantissa; a carry out of them correctly increments
  // the exponent.
  if (magnitude < std::ldexp(1, -14))
    return sign |
           static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  int exponent = std::ilogb(magnitude);
  auto mantissa = static_cast<uint16_t>(
      std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + mantissa);
}

float fromBfloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

/// Rounds to nearest, ties to even.
uint16_t toBfloat(double value) {
  if (std::isnan(value))
    return 0x7fc0;
  auto narrow = static_cast<float>(value);
  auto bits = std::bit_cast<uint32_t>(narrow);
  if (std::isinf(narrow))
    return static_cast<uint16_t>(bits >> 16);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// The sign of a NaN is arbitrary; text has "nan", never "-nan".
double withoutSignOfNan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

template <typename T> void appendNumber(std::string &out, T value) {
  char buffer[32];
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) {
      out += std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"";
      return;
    }
  }
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  out.append(buffer, end);
}

template <typename T>
Expected<std::vector<std::byte>> parseInteger(ElementType element,
                                              std::string_view text) {
  T value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range ||
      (error == std::errc() && end != text.data() + text.size()) ||
      error != std::errc())
    return runtime::invalidArgument(
        fmt::format("expected an integer from {} to {} for {}, found '{}'",
                    std::numeric_limits<T>::min(),
                    std::numeric_limits<T>::max(), elementName(element), text));
  return toBytes(value);
}

} // namespace

double toDouble(ElementType element, const std::byte *bytes) {
  switch (element) {
  case ElementType::i1:
    return load<uint8_t>(bytes) != 0;
  case ElementType::i8:
    return load<int8_t>(bytes);
  case ElementType::i16:
    return load<int16_t>(bytes);
  case ElementType::i32:
    return load<int32_t>(bytes);
  case ElementType::i64:
    return static_cast<double>(load<int64_t>(bytes));
  case ElementType::u8:
    return load<uint8_t>(bytes);
  case ElementType::u16:
    return load<uint16_t>(bytes);
  case ElementType::u32:
    return load<uint32_t>(bytes);
  case ElementType::u64:
    return static_cast<double>(load<uint64_t>(bytes));
  case ElementType::f16:
    return fromHalf(load<uint16_t>(bytes));
  case ElementType::bf16:
    return fromBfloat(load<uint16_t>(bytes));
  case ElementType::f32:
    return withoutSignOfNan(load<float>(bytes));
  case ElementType::f64:
    return withoutSignOfNan(load<double>(bytes));
  }
  return 0;
}

void appendJson(std::string &out, ElementType element, const std::byte *bytes) {
  switch (element) {
  case ElementType::i1:
    out += load<uint8_t>(bytes) ? "true" : "false";
    return;
  case ElementType::i64:
    return appendNumber(out, load<int64_t>(bytes));
  case ElementType::u64:
    return appendNumber(out, load<uint64_t>(bytes));
  case ElementType::f64:
    return appendNumber(out, load<double>(bytes));
  case ElementType::f16:
  case ElementType::bf16:
  case ElementType::f32:
    return appendNumber(out, static_cast<float>(toDouble(element, bytes)));
  default:
    return appendNumber(out, static_cast<int64_t>(toDouble(element, bytes)));
  }
}

void appendJson(std::string &out, double value) { appendNumber(out, value); }

void appendJson(std::string &out, const runtime::TensorInfo &type,
                std::span<const std::byte> bytes) {
  uint64_t size = elementSize(type.element);
  if (type.shape.empty() && bytes.size() >= size)
    return appendJson(out, type.element, bytes.data());
  out += '[';
  for (size_t offset = 0; offset + size <= bytes.size(); offset += size) {
    if (offset)
      out += ',';
    appendJson(out, type.element, bytes.data() + offset);
  }
  out += ']';
}

Expected<std::vector<std::byte>> parseElement(ElementType element,
                                              std::string_view text) {
  switch (element) {
  case ElementType::i1:
    if (text == "true" || text == "1" || text == "false" || text == "0")
      return std::vector<std::byte>{std::byte(text == "true" || text == "1")};
    return runtime::invalidArgument(
        fmt::format("expected true or false, found '{}'", text));
  case ElementType::i8:
    return parseInteger<int8_t>(element, text);
  case ElementType::i16:
    return parseInteger<int16_t>(element, text);
  case ElementType::i32:
    return parseInteger<int32_t>(element, text);
  case ElementType::i64:
    return parseInteger<int64_t>(element, text);
  case ElementType::u8:
    return parseInteger<uint8_t>(element, text);
  case ElementType::u16:
    return parseInteger<uint16_t>(element, text);
  case ElementType::u32:
    return parseInteger<uint32_t>(element, text);
  case ElementType::u64:
    return parseInteger<uint64_t>(element, text);
  default:
    break;
  }
  double value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return runtime::invalidArgument(fmt::format(
        "expected a number for {}, found '{}'", elementName(element), text));
  switch (element) {
  case ElementType::f16:
    return toBytes(toHalf(value));
  case ElementType::bf16:
    return toBytes(toBfloat(value));
  case ElementType::f32: {
    // Rounding the text once is more precise than rounding through f64.
    float narrow = 0;
    auto result =
        std::from_chars(text.data(), text.data() + text.size(), narrow);
    return toBytes(result.ec == std::errc() ? narrow
                                            : static_cast<float>(value));
  }
  default:
    return toBytes(value);
  }
}

} // namespace lockstep::training

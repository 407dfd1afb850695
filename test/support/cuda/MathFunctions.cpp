//===- MathFunctions.cpp - what compiled kernels do not compute inline ----===//
//
// Compiled with -frounding-math, since some of it changes the rounding.
//
//===----------------------------------------------------------------------===//

#include "KernelAbi.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>

namespace lockstep::standin {

//===----------------------------------------------------------------------===//
// Rounding to a format
//===----------------------------------------------------------------------===//

namespace {

struct FormatProperties {
  int digits, leastExponent, greatestExponent, width;
};

constexpr FormatProperties propertiesOf(Format format) {
  switch (format) {
  case Format::F16:
    return {11, -14, 15, 16};
  case Format::BF16:
    return {8, -126, 127, 16};
  case Format::F32:
    return {24, -126, 127, 32};
  case Format::F64:
    break;
  }
  return {53, -1022, 1023, 64};
}

} // namespace

/// The bits of (-1)^isNegative * mantissa * 2^exponent, rounded once.
static uint64_t roundExact(bool isNegative, uint64_t mantissa, int exponent,
                           Format format, Rounding mode) {
  FormatProperties properties = propertiesOf(format);
  int fraction = properties.digits - 1;
  uint64_t sign = isNegative ? uint64_t(1) << (properties.width - 1) : 0;
  if (!mantissa)
    return sign;
  int top = 63 - std::countl_zero(mantissa) + exponent;
  // The exponent of the last digit of the result.
  int last = std::max(top, properties.leastExponent) - fraction;
  int shift = last - exponent;
  uint64_t digits = 0;
  // The part below the last digit against half of it: 0 for none, 2 for half.
  int rest = 0;
  if (shift <= 0) {
    digits = mantissa << -shift;
  } else if (shift > 64) {
    rest = 1;
  } else {
    unsigned __int128 wide = mantissa;
    digits = uint64_t(wide >> shift);
    unsigned __int128 below = wide & (((unsigned __int128)(1) << shift) - 1);
    unsigned __int128 half = (unsigned __int128)(1) << (shift - 1);
    rest = below == 0 ? 0 : below < half ? 1 : below == half ? 2 : 3;
  }
  bool isAway = mode == Rounding::Up     ? !isNegative && rest
                : mode == Rounding::Down ? isNegative && rest
                : mode == Rounding::Zero
                    ? false
                    : rest == 3 || (rest == 2 && digits & 1);
  digits += isAway;
  if (digits >> properties.digits) {
    digits >>= 1;
    ++last;
  }
  uint64_t infinity = uint64_t(2 * properties.greatestExponent + 1) << fraction;
  if (last + fraction > properties.greatestExponent) {
    bool isInfinite = mode == Rounding::Nearest ||
                      (mode == Rounding::Up && !isNegative) ||
                      (mode == Rounding::Down && isNegative);
    return sign | (infinity - !isInfinite);
  }
  // The hidden digit of a normal number adds one to the exponent.
  uint64_t biased = uint64_t(last + fraction - properties.leastExponent);
  return sign | ((biased << fraction) + digits);
}

extern "C" {

static uint64_t standin_round_number(double number, uint32_t format,
                                     uint32_t mode) {
  FormatProperties properties = propertiesOf(Format(format));
  int fraction = properties.digits - 1;
  uint64_t infinity = uint64_t(2 * properties.greatestExponent + 1) << fraction;
  // The canonical NaN of formats with fewer than 64 bits.
  if (std::isnan(number))
    return (uint64_t(1) << (properties.width - 1)) - 1;
  bool isNegative = std::signbit(number);
  if (std::isinf(number))
    return infinity | uint64_t(isNegative) << (properties.width - 1);
  int exponent = 0;
  double part = std::frexp(std::fabs(number), &exponent);
  auto mantissa = uint64_t(std::ldexp(part, 53));
  return roundExact(isNegative, mantissa, exponent - 53, Format(format),
                    Rounding(mode));
}

static uint64_t standin_round_integer(uint64_t value, uint32_t isSigned,
                                      uint32_t format, uint32_t mode) {
  bool isNegative = isSigned && value >> 63;
  return roundExact(isNegative, isNegative ? 0 - value : value, 0,
                    Format(format), Rounding(mode));
}

/// The product of numbers of 16 bits is exact in f64. The sum is rounded to
/// odd there, so that rounding it again is the same as rounding once (Boldo and
/// Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
static uint32_t standin_fma16(float a, float b, float c, uint32_t format) {
  volatile double product = double(a) * double(b);
  volatile double sum = product + double(c);
  if (std::isfinite(sum)) {
    volatile double back = sum - product;
    volatile double left = sum - back;
    volatile double lostLeft = product - left;
    volatile double lostRight = double(c) - back;
    volatile double error = lostLeft + lostRight;
    auto bits = std::bit_cast<uint64_t>(double(sum));
    if (error != 0 && !(bits & 1)) {
      // The neighbor in the direction of what was lost.
      bits += (error > 0) == (sum > 0) ? 1 : -1;
      sum = std::bit_cast<double>(bits);
    }
  }
  return uint32_t(
      standin_round_number(sum, format, uint32_t(Rounding::Nearest)));
}

} // extern "C"

//===----------------------------------------------------------------------===//
// Other roundings
//===----------------------------------------------------------------------===//

template <typename Number>
static Number computeRounded(uint32_t operation, uint32_t mode, Number a,
                             Number b, Number c) {
  static constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                  FE_UPWARD};
  volatile Number x = a, y = b, z = c, result = 0;
  int before = std::fegetround();
  std::fesetround(modes[mode]);
  switch (Arithmetic(operation)) {
  case Arithmetic::Add:
    result = x + y;
    break;
  case Arithmetic::Sub:
    result = x - y;
    break;
  case Arithmetic::Mul:
    result = x * y;
    break;
  case Arithmetic::Div:
    result = x / y;
    break;
  case Arithmetic::Fma:
    result = std::fma(Number(x), Number(y), Number(z));
    break;
  case Arithmetic::Sqrt:
    result = std::sqrt(Number(x));
    break;
  }
  std::fesetround(before);
  return result;
}

extern "C" {

static float standin_rounded_f32(uint32_t operation, uint32_t mode, float a,
                                 float b, float c) {
  return computeRounded(operation, mode, a, b, c);
}

static double standin_rounded_f64(uint32_t operation, uint32_t mode, double a,
                                  double b, double c) {
  return computeRounded(operation, mode, a, b, c);
}

static float standin_ex2(float x) { return std::exp2(x); }
static float standin_lg2(float x) { return std::log2(x); }
static float standin_sin(float x) { return std::sin(x); }
static float standin_cos(float x) { return std::cos(x); }
static float standin_tanh(float x) { return std::tanh(x); }

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// The highest bit that differs from the sign, or all ones.
static uint32_t standin_bfind(uint64_t value, uint32_t bits, uint32_t isSigned,
                              uint32_t isShift) {
  if (isSigned && value >> 63)
    value = ~value;
  if (!value)
    return ~uint32_t(0);
  auto position = uint32_t(63 - std::countl_zero(value));
  return isShift ? bits - 1 - position : position;
}

static uint64_t standin_bfe(uint64_t value, uint32_t start, uint32_t length,
                            uint32_t bits, uint32_t isSigned) {
  start &= 0xFF;
  length &= 0xFF;
  auto bit = [&](uint32_t index) {
    return uint64_t(value >> std::min(index, 63u) & 1);
  };
  uint32_t top = bits - 1;
  uint64_t sign =
      isSigned && length ? bit(std::min(start + length - 1, top)) : 0;
  uint64_t result = 0;
  for (uint32_t i = 0; i < bits; ++i)
    result |= (i < length && start + i <= top ? bit(start + i) : sign) << i;
  return result;
}

static uint64_t standin_bfi(uint64_t field, uint64_t into, uint32_t start,
                            uint32_t length, uint32_t bits) {
  start &= 0xFF;
  length &= 0xFF;
  for (uint32_t i = 0; i < length && start + i < bits; ++i) {
    uint64_t bit = uint64_t(1) << (start + i);
    into = (into & ~bit) | (field >> i & 1) << (start + i);
  }
  return into;
}

/// Modes: 0 is the default, then f4e, b4e, rc8, ecl, ecr and rc16.
static uint32_t standin_prmt(uint32_t a, uint32_t b, uint32_t selector,
                             uint32_t mode) {
  uint64_t source = uint64_t(b) << 32 | a;
  uint32_t start = selector & 3, result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t from = 0;
    bool isSign = false;
    switch (mode) {
    case 0:
      from = selector >> 4 * i & 7;
      isSign = selector >> 4 * i & 8;
      break;
    case 1:
      from = start + i;
      break;
    case 2:
      from = (start - i) & 7;
      break;
    case 3:
      from = start;
      break;
    case 4:
      from = std::max(start, i);
      break;
    case 5:
      from = std::min(start, i);
      break;
    default:
      from = (start & 1) * 2 + (i & 1);
      break;
    }
    auto byte = uint32_t(source >> 8 * from & 0xFF);
    if (isSign)
      byte = byte & 0x80 ? 0xFF : 0;
    result |= byte << 8 * i;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Atomic additions of 16 bits
//===----------------------------------------------------------------------===//

static float number16(uint32_t bits, Format format) {
  if (format == Format::BF16)
    return std::bit_cast<float>(bits << 16);
  bool isNegative = bits & 0x8000;
  int exponent = int(bits >> 10 & 31);
  auto fraction = float(bits & 0x3FF);
  float magnitude = exponent == 31 ? (fraction != 0 ? std::nanf("") : INFINITY)
                    : exponent == 0
                        ? std::ldexp(fraction, -24)
                        : std::ldexp(fraction + 1024, exponent - 25);
  return isNegative ? -magnitude : magnitude;
}

static uint32_t standin_atomic_add16(void *pointer, uint32_t value,
                                     uint32_t lanes, uint32_t format) {
  auto add = [&](uint32_t old) {
    uint32_t sum = 0;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      uint32_t shift = lane * 16;
      float number = number16(old >> shift & 0xFFFF, Format(format)) +
                     number16(value >> shift & 0xFFFF, Format(format));
      sum |= uint32_t(standin_round_number(number, format, 0)) << shift;
    }
    return sum;
  };
  auto update = [&](auto *place) -> uint32_t {
    auto old = __atomic_load_n(place, __ATOMIC_SEQ_CST);
    for (;;) {
      auto next = decltype(old)(add(old));
      if (__atomic_compare_exchange_n(place, &old, next, false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return old;
    }
  };
  return lanes == 2 ? update(static_cast<uint32_t *>(pointer))
                    : update(static_cast<uint16_t *>(pointer));
}

} // extern "C"

std::span<const RuntimeFunction> mathFunctions() {
#define FUNCTION(name)                                                         \
  {                                                                            \
    #name, reinterpret_cast<void *>(&name)                                     \
  }
  static const RuntimeFunction functions[] = {
      FUNCTION(standin_round_number), FUNCTION(standin_round_integer),
      FUNCTION(standin_fma16),        FUNCTION(standin_rounded_f32),
      FUNCTION(standin_rounded_f64),  FUNCTION(standin_ex2),
      FUNCTION(standin_lg2),          FUNCTION(standin_sin),
      FUNCTION(standin_cos),          FUNCTION(standin_tanh),
      FUNCTION(standin_bfind),        FUNCTION(standin_bfe),
      FUNCTION(standin_bfi),          FUNCTION(standin_prmt),
      FUNCTION(standin_atomic_add16)};
#undef FUNCTION
  return functions;
}

} // namespace lockstep::standin

//===- MathKernels.cpp - Operations of `math` -----------------------------===//
//
// Floats of up to 32 bits are computed in float by the C library, f64 in
// double. `LaneKernel::run` then rounds the results to 16-bit types.
//
//===----------------------------------------------------------------------===//

#include "dialect/Reference/LaneKernels.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <bit>
#include <cmath>

using namespace mlir;

namespace lockstep::interpret {

/// Applies `F(bits, width)` to the zero-extended bits of integers of a width.
template <auto F>
static void intLoop(const LaneKernel &kernel, void *to, const void *const *from,
                    int64_t count) {
  auto *result = static_cast<uint64_t *>(to);
  auto *a = static_cast<const uint64_t *>(from[0]);
  for (int64_t i = 0; i < count; ++i)
    result[i] = F(a[i], kernel.operand.width) & widthMask(kernel.result.width);
}

/// The base to the power of the exponent by repeated squaring, modulo 2^64.
/// With a negative exponent, 1 if the base is 1, else 0.
static uint64_t integerPower(uint64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : 0;
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return result;
}

/// Powers of -1 depend on whether the exponent is odd, also if it is negative.
static void ipowi(const LaneKernel &kernel, void *to, const void *const *from,
                  int64_t count) {
  auto *result = static_cast<uint64_t *>(to);
  auto *a = static_cast<const uint64_t *>(from[0]),
       *b = static_cast<const uint64_t *>(from[1]);
  unsigned width = kernel.operand.width;
  for (int64_t i = 0; i < count; ++i) {
    int64_t base = signExtend(a[i], width), exponent = signExtend(b[i], width);
    uint64_t power = base == -1 ? integerPower(base, exponent & 1)
                                : integerPower(base, exponent);
    result[i] = power & widthMask(width);
  }
}

template <typename T>
static void fpowi(const LaneKernel &kernel, void *to, const void *const *from,
                  int64_t count) {
  auto *result = static_cast<T *>(to);
  auto *a = static_cast<const T *>(from[0]);
  auto *b = static_cast<const uint64_t *>(from[1]);
  for (int64_t i = 0; i < count; ++i) {
    int64_t exponent = signExtend(b[i], kernel.second.width);
    // As a float, a large odd exponent may become even.
    T power = std::pow(std::abs(a[i]), static_cast<T>(exponent));
    result[i] = std::signbit(a[i]) && exponent % 2 != 0 ? -power : power;
  }
}

/// A predicate on floats.
template <auto F>
static LaneKernel::Function floatTest(const LaneKernel &kernel) {
  return kernel.operand.lane == Lane::Float ? &unaryLoop<uint64_t, float, F>
                                            : &unaryLoop<uint64_t, double, F>;
}

static LaneKernel::Function getRoundingFunction(Operation *op,
                                                LaneKernel &kernel) {
  return TypeSwitch<Operation *, LaneKernel::Function>(op)
      .Case([&](math::FloorOp) {
        return floatUnary<[](auto a) { return std::floor(a); }>(kernel);
      })
      .Case([&](math::CeilOp) {
        return floatUnary<[](auto a) { return std::ceil(a); }>(kernel);
      })
      .Case([&](math::RoundOp) {
        return floatUnary<[](auto a) { return std::round(a); }>(kernel);
      })
      .Case([&](math::RoundEvenOp) {
        return floatUnary<[](auto a) { return std::nearbyint(a); }>(kernel);
      })
      .Case([&](math::TruncOp) {
        return floatUnary<[](auto a) { return std::trunc(a); }>(kernel);
      })
      .Case([&](math::AbsFOp) {
        return floatUnary<[](auto a) { return std::fabs(a); }>(kernel);
      })
      .Case([&](math::CopySignOp) {
        return floatBinary<[](auto a, auto b) { return std::copysign(a, b); }>(
            kernel);
      })
      .Case([&](math::IsNaNOp) {
        return floatTest<[](auto a) { return std::isnan(a); }>(kernel);
      })
      .Case([&](math::IsInfOp) {
        return floatTest<[](auto a) { return std::isinf(a); }>(kernel);
      })
      .Case([&](math::IsFiniteOp) {
        return floatTest<[](auto a) { return std::isfinite(a); }>(kernel);
      })
      .Default([](Operation *) { return nullptr; });
}

static LaneKernel::Function getIntegerFunction(Operation *op) {
  return TypeSwitch<Operation *, LaneKernel::Function>(op)
      .Case([](math::AbsIOp) {
        return &intLoop<[](uint64_t a, unsigned width) {
          return signExtend(a, width) < 0 ? -a : a;
        }>;
      })
      .Case([](math::CtPopOp) {
        return &intLoop<[](uint64_t a, unsigned) {
          return uint64_t(std::popcount(a));
        }>;
      })
      .Case([](math::CountLeadingZerosOp) {
        return &intLoop<[](uint64_t a, unsigned width) {
          return uint64_t(std::countl_zero(a)) - (64 - width);
        }>;
      })
      .Case([](math::CountTrailingZerosOp) {
        return &intLoop<[](uint64_t a, unsigned width) {
          return a ? uint64_t(std::countr_zero(a)) : uint64_t(width);
        }>;
      })
      .Case([](math::IPowIOp) { return &ipowi; })
      .Default([](Operation *) { return nullptr; });
}

LaneKernel::Function getMathFunction(Operation *op, LaneKernel &kernel) {
  if (LaneKernel::Function function = getRoundingFunction(op, kernel))
    return function;
  if (LaneKernel::Function function = getIntegerFunction(op))
    return function;
  return TypeSwitch<Operation *, LaneKernel::Function>(op)
      .Case([&](math::ExpOp) {
        return floatUnary<[](auto a) { return std::exp(a); }>(kernel);
      })
      .Case([&](math::Exp2Op) {
        return floatUnary<[](auto a) { return std::exp2(a); }>(kernel);
      })
      .Case([&](math::ExpM1Op) {
        return floatUnary<[](auto a) { return std::expm1(a); }>(kernel);
      })
      .Case([&](math::LogOp) {
        return floatUnary<[](auto a) { return std::log(a); }>(kernel);
      })
      .Case([&](math::Log2Op) {
        return floatUnary<[](auto a) { return std::log2(a); }>(kernel);
      })
      .Case([&](math::Log10Op) {
        return floatUnary<[](auto a) { return std::log10(a); }>(kernel);
      })
      .Case([&](math::Log1pOp) {
        return floatUnary<[](auto a) { return std::log1p(a); }>(kernel);
      })
      .Case([&](math::SqrtOp) {
        return floatUnary<[](auto a) { return std::sqrt(a); }>(kernel);
      })
      .Case([&](math::RsqrtOp) {
        return floatUnary<[](auto a) { return 1 / std::sqrt(a); }>(kernel);
      })
      .Case([&](math::CbrtOp) {
        return floatUnary<[](auto a) { return std::cbrt(a); }>(kernel);
      })
      .Case([&](math::SinOp) {
        return floatUnary<[](auto a) { return std::sin(a); }>(kernel);
      })
      .Case([&](math::CosOp) {
        return floatUnary<[](auto a) { return std::cos(a); }>(kernel);
      })
      .Case([&](math::TanOp) {
        return floatUnary<[](auto a) { return std::tan(a); }>(kernel);
      })
      .Case([&](math::AsinOp) {
        return floatUnary<[](auto a) { return std::asin(a); }>(kernel);
      })
      .Case([&](math::AcosOp) {
        return floatUnary<[](auto a) { return std::acos(a); }>(kernel);
      })
      .Case([&](math::AtanOp) {
        return floatUnary<[](auto a) { return std::atan(a); }>(kernel);
      })
      .Case([&](math::Atan2Op) {
        return floatBinary<[](auto a, auto b) { return std::atan2(a, b); }>(
            kernel);
      })
      .Case([&](math::SinhOp) {
        return floatUnary<[](auto a) { return std::sinh(a); }>(kernel);
      })
      .Case([&](math::CoshOp) {
        return floatUnary<[](auto a) { return std::cosh(a); }>(kernel);
      })
      .Case([&](math::TanhOp) {
        return floatUnary<[](auto a) { return std::tanh(a); }>(kernel);
      })
      .Case([&](math::AsinhOp) {
        return floatUnary<[](auto a) { return std::asinh(a); }>(kernel);
      })
      .Case([&](math::AcoshOp) {
        return floatUnary<[](auto a) { return std::acosh(a); }>(kernel);
      })
      .Case([&](math::AtanhOp) {
        return floatUnary<[](auto a) { return std::atanh(a); }>(kernel);
      })
      .Case([&](math::ErfOp) {
        return floatUnary<[](auto a) { return std::erf(a); }>(kernel);
      })
      .Case([&](math::ErfcOp) {
        return floatUnary<[](auto a) { return std::erfc(a); }>(kernel);
      })
      .Case([&](math::PowFOp) {
        return floatBinary<[](auto a, auto b) { return std::pow(a, b); }>(
            kernel);
      })
      .Case([&](math::FmaOp) {
        return floatTernary<[](auto a, auto b, auto c) {
          return std::fma(a, b, c);
        }>(kernel);
      })
      .Case([&](math::ClampFOp) {
        return floatTernary<[](auto a, auto low, auto high) {
          return a < low ? low : a > high ? high : a;
        }>(kernel);
      })
      .Case([&](math::FPowIOp) {
        return kernel.operand.lane == Lane::Float ? &fpowi<float>
                                                  : &fpowi<double>;
      })
      .Default([](Operation *) { return nullptr; });
}

} // namespace lockstep::interpret

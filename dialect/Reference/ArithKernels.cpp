//===- ArithKernels.cpp - Operations of `arith` ---------------------------===//

#include "dialect/Reference/LaneKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace mlir;

namespace lockstep::interpret {

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Applies `F` to the zero-extended bits of integers.
template <auto F>
static void unsignedLoop(const LaneKernel &kernel, void *to,
                         const void *const *from, int64_t count) {
  auto *result = static_cast<uint64_t *>(to);
  auto *a = static_cast<const uint64_t *>(from[0]),
       *b = static_cast<const uint64_t *>(from[1]);
  uint64_t mask = widthMask(kernel.operand.width);
  for (int64_t i = 0; i < count; ++i)
    result[i] = F(a[i], b[i]) & mask;
}

/// Applies `F` to sign-extended integers.
template <auto F>
static void signedLoop(const LaneKernel &kernel, void *to,
                       const void *const *from, int64_t count) {
  auto *result = static_cast<uint64_t *>(to);
  auto *a = static_cast<const uint64_t *>(from[0]),
       *b = static_cast<const uint64_t *>(from[1]);
  unsigned width = kernel.operand.width;
  uint64_t mask = widthMask(width);
  for (int64_t i = 0; i < count; ++i)
    result[i] = static_cast<uint64_t>(
                    F(signExtend(a[i], width), signExtend(b[i], width))) &
                mask;
}

/// Applies `F(a, b, width)` to the zero-extended bits of integers. Shifts
/// depend on the width of the type: they define the result of shifting by the
/// width or more, for which a shift of 64 bits has another result or none.
template <auto F>
static void shiftLoop(const LaneKernel &kernel, void *to,
                      const void *const *from, int64_t count) {
  auto *result = static_cast<uint64_t *>(to);
  auto *a = static_cast<const uint64_t *>(from[0]),
       *b = static_cast<const uint64_t *>(from[1]);
  unsigned width = kernel.operand.width;
  for (int64_t i = 0; i < count; ++i)
    result[i] = F(a[i], b[i], width) & widthMask(width);
}

// Divisions by zero result in all ones, with the dividend as the remainder
// (`getLaneKernel`).
static uint64_t divideUnsigned(uint64_t a, uint64_t b) {
  return b ? a / b : ~uint64_t(0);
}
static uint64_t remainderUnsigned(uint64_t a, uint64_t b) {
  return b ? a % b : a;
}
static int64_t divideSigned(int64_t a, int64_t b) {
  // The least number divided by -1 wraps around.
  return b == 0    ? -1
         : b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a))
                   : a / b;
}
static int64_t remainderSigned(int64_t a, int64_t b) {
  return b == 0 ? a : b == -1 ? 0 : a % b;
}
/// The quotient rounded up or down, instead of toward zero.
static int64_t divideRounded(int64_t a, int64_t b, bool up) {
  int64_t quotient = divideSigned(a, b), remainder = remainderSigned(a, b);
  if (b == 0 || remainder == 0)
    return quotient;
  bool positive = (a < 0) == (b < 0);
  return up ? quotient + positive : quotient - !positive;
}

static LaneKernel::Function getIntegerFunction(Operation *op) {
  return TypeSwitch<Operation *, LaneKernel::Function>(op)
      .Case([](arith::AddIOp) {
        return &unsignedLoop<[](uint64_t a, uint64_t b) { return a + b; }>;
      })
      .Case([](arith::SubIOp) {
        return &unsignedLoop<[](uint64_t a, uint64_t b) { return a - b; }>;
      })
      .Case([](arith::MulIOp) {
        return &unsignedLoop<[](uint64_t a, uint64_t b) { return a * b; }>;
      })
      .Case([](arith::AndIOp) {
        return &unsignedLoop<[](uint64_t a, uint64_t b) { return a & b; }>;
      })
      .Case([](arith::OrIOp) {
        return &unsignedLoop<[](uint64_t a, uint64_t b) { return a | b; }>;
      })
      .Case([](arith::XOrIOp) {
        return &unsignedLoop<[](uint64_t a, uint64_t b) { return a ^ b; }>;
      })
      .Case([](arith::MaxUIOp) {
        return &unsignedLoop<[](uint64_t a, uint64_t b) {
          return a < b ? b : a;
        }>;
      })
      .Case([](arith::MinUIOp) {
        return &unsignedLoop<[](uint64_t a, uint64_t b) {
          return a < b ? a : b;
        }>;
      })
      .Case([](arith::DivUIOp) { return &unsignedLoop<divideUnsigned>; })
      .Case([](arith::RemUIOp) { return &unsignedLoop<remainderUnsigned>; })
      .Case([](arith::CeilDivUIOp) {
        return &unsignedLoop<[](uint64_t a, uint64_t b) {
          return divideUnsigned(a, b) + (b && a % b);
        }>;
      })
      .Case([](arith::MaxSIOp) {
        return &signedLoop<[](int64_t a, int64_t b) { return a < b ? b : a; }>;
      })
      .Case([](arith::MinSIOp) {
        return &signedLoop<[](int64_t a, int64_t b) { return a < b ? a : b; }>;
      })
      .Case([](arith::DivSIOp) { return &signedLoop<divideSigned>; })
      .Case([](arith::RemSIOp) { return &signedLoop<remainderSigned>; })
      .Case([](arith::CeilDivSIOp) {
        return &signedLoop<[](int64_t a, int64_t b) {
          return divideRounded(a, b, true);
        }>;
      })
      .Case([](arith::FloorDivSIOp) {
        return &signedLoop<[](int64_t a, int64_t b) {
          return divideRounded(a, b, false);
        }>;
      })
      .Case([](arith::ShLIOp) {
        return &shiftLoop<[](uint64_t a, uint64_t b, unsigned width) {
          return b < width ? a << b : 0;
        }>;
      })
      .Case([](arith::ShRUIOp) {
        return &shiftLoop<[](uint64_t a, uint64_t b, unsigned width) {
          return b < width ? a >> b : 0;
        }>;
      })
      .Case([](arith::ShRSIOp) {
        return &shiftLoop<[](uint64_t a, uint64_t b, unsigned width) {
          return static_cast<uint64_t>(signExtend(a, width) >>
                                       (b < width ? b : width - 1));
        }>;
      })
      .Default([](Operation *) { return nullptr; });
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// The outcomes of comparing two numbers, as bits. A comparison is described by
/// the set of outcomes for which it is true (`LaneKernel::accepted`).
enum Outcome : unsigned { Less = 1, Equal = 2, Greater = 4, Unordered = 8 };

/// Compares floats, or integers as unsigned ones.
template <typename T>
static void compareLoop(const LaneKernel &kernel, void *to,
                        const void *const *from, int64_t count) {
  auto *result = static_cast<uint64_t *>(to);
  auto *a = static_cast<const T *>(from[0]),
       *b = static_cast<const T *>(from[1]);
  for (int64_t i = 0; i < count; ++i) {
    unsigned outcome = a[i] < b[i]    ? Less
                       : a[i] > b[i]  ? Greater
                       : a[i] == b[i] ? Equal
                                      : Unordered;
    result[i] = (kernel.accepted & outcome) != 0;
  }
}

static void compareSigned(const LaneKernel &kernel, void *to,
                          const void *const *from, int64_t count) {
  auto *result = static_cast<uint64_t *>(to);
  auto *a = static_cast<const uint64_t *>(from[0]),
       *b = static_cast<const uint64_t *>(from[1]);
  for (int64_t i = 0; i < count; ++i) {
    int64_t x = signExtend(a[i], kernel.operand.width),
            y = signExtend(b[i], kernel.operand.width);
    result[i] = (kernel.accepted & (x < y   ? Less
                                    : x > y ? Greater
                                            : Equal)) != 0;
  }
}

/// The outcomes for which a comparison is true.
static unsigned getAccepted(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return Equal;
  case P::ne:
    return Less | Greater;
  case P::slt:
  case P::ult:
    return Less;
  case P::sle:
  case P::ule:
    return Less | Equal;
  case P::sgt:
  case P::ugt:
    return Greater;
  case P::sge:
  case P::uge:
    return Greater | Equal;
  }
  llvm_unreachable("unknown comparison of integers");
}

static unsigned getAccepted(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return 0;
  case P::OEQ:
    return Equal;
  case P::OGT:
    return Greater;
  case P::OGE:
    return Greater | Equal;
  case P::OLT:
    return Less;
  case P::OLE:
    return Less | Equal;
  case P::ONE:
    return Less | Greater;
  case P::ORD:
    return Less | Equal | Greater;
  case P::UEQ:
    return Unordered | Equal;
  case P::UGT:
    return Unordered | Greater;
  case P::UGE:
    return Unordered | Greater | Equal;
  case P::ULT:
    return Unordered | Less;
  case P::ULE:
    return Unordered | Less | Equal;
  case P::UNE:
    return Unordered | Less | Greater;
  case P::UNO:
    return Unordered;
  case P::AlwaysTrue:
    return Unordered | Less | Equal | Greater;
  }
  llvm_unreachable("unknown comparison of floats");
}

static LaneKernel::Function getComparison(arith::CmpIOp op,
                                          LaneKernel &kernel) {
  using P = arith::CmpIPredicate;
  P predicate = op.getPredicate();
  kernel.accepted = getAccepted(predicate);
  bool isSigned = predicate == P::slt || predicate == P::sle ||
                  predicate == P::sgt || predicate == P::sge;
  return isSigned ? &compareSigned : &compareLoop<uint64_t>;
}

static LaneKernel::Function getComparison(arith::CmpFOp op,
                                          LaneKernel &kernel) {
  kernel.accepted = getAccepted(op.getPredicate());
  return kernel.operand.lane == Lane::Float ? &compareLoop<float>
                                            : &compareLoop<double>;
}

template <typename T>
static void selectLoop(const LaneKernel &, void *to, const void *const *from,
                       int64_t count) {
  auto *result = static_cast<T *>(to);
  auto *condition = static_cast<const uint64_t *>(from[0]);
  auto *a = static_cast<const T *>(from[1]),
       *b = static_cast<const T *>(from[2]);
  for (int64_t i = 0; i < count; ++i)
    result[i] = condition[i] ? a[i] : b[i];
}

//===----------------------------------------------------------------------===//
// Floats and conversions
//===----------------------------------------------------------------------===//

/// Maximum and minimum as in IEEE 754-2019: NaN if an operand is NaN, and -0 is
/// less than +0.
static constexpr auto maximum = [](auto a, auto b) {
  return std::isnan(a)                          ? a
         : std::isnan(b)                        ? b
         : a < b || (a == b && std::signbit(a)) ? b
                                                : a;
};
static constexpr auto minimum = [](auto a, auto b) {
  return std::isnan(a)                          ? a
         : std::isnan(b)                        ? b
         : b < a || (a == b && std::signbit(b)) ? b
                                                : a;
};

static LaneKernel::Function getFloatFunction(Operation *op,
                                             LaneKernel &kernel) {
  return TypeSwitch<Operation *, LaneKernel::Function>(op)
      .Case([&](arith::AddFOp) {
        return floatBinary<[](auto a, auto b) { return a + b; }>(kernel);
      })
      .Case([&](arith::SubFOp) {
        return floatBinary<[](auto a, auto b) { return a - b; }>(kernel);
      })
      .Case([&](arith::MulFOp) {
        return floatBinary<[](auto a, auto b) { return a * b; }>(kernel);
      })
      .Case([&](arith::DivFOp) {
        return floatBinary<[](auto a, auto b) { return a / b; }>(kernel);
      })
      .Case([&](arith::RemFOp) {
        return floatBinary<[](auto a, auto b) { return std::fmod(a, b); }>(
            kernel);
      })
      .Case([&](arith::NegFOp) {
        return floatUnary<[](auto a) { return -a; }>(kernel);
      })
      .Case([&](arith::MaximumFOp) { return floatBinary<maximum>(kernel); })
      .Case([&](arith::MinimumFOp) { return floatBinary<minimum>(kernel); })
      .Case([&](arith::MaxNumFOp) {
        return floatBinary<[](auto a, auto b) { return std::fmax(a, b); }>(
            kernel);
      })
      .Case([&](arith::MinNumFOp) {
        return floatBinary<[](auto a, auto b) { return std::fmin(a, b); }>(
            kernel);
      })
      .Default([](Operation *) { return nullptr; });
}

/// Integer to integer: truncates, or extends with zeros or (`Signed`) the sign.
template <bool Signed>
static void resizeLoop(const LaneKernel &kernel, void *to,
                       const void *const *from, int64_t count) {
  auto *result = static_cast<uint64_t *>(to);
  auto *a = static_cast<const uint64_t *>(from[0]);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits =
        Signed ? static_cast<uint64_t>(signExtend(a[i], kernel.operand.width))
               : a[i];
    result[i] = bits & widthMask(kernel.result.width);
  }
}

/// Integer to float.
template <typename T, bool Signed>
static void toFloatLoop(const LaneKernel &kernel, void *to,
                        const void *const *from, int64_t count) {
  auto *result = static_cast<T *>(to);
  auto *a = static_cast<const uint64_t *>(from[0]);
  for (int64_t i = 0; i < count; ++i)
    result[i] = Signed ? static_cast<T>(signExtend(a[i], kernel.operand.width))
                       : static_cast<T>(a[i]);
}

/// Float to integer: truncates, saturates, and converts NaN to 0.
template <typename T, bool Signed>
static void toIntLoop(const LaneKernel &kernel, void *to,
                      const void *const *from, int64_t count) {
  auto *result = static_cast<uint64_t *>(to);
  auto *a = static_cast<const T *>(from[0]);
  unsigned width = kernel.result.width, bits = Signed ? width - 1 : width;
  // One more than the greatest integer. It is a power of two, so that the float
  // is exact.
  T limit = std::ldexp(T(1), bits);
  uint64_t greatest = widthMask(bits),
           least = Signed ? uint64_t(1) << (width - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    if (std::isnan(a[i]))
      result[i] = 0;
    else if (a[i] >= limit)
      result[i] = greatest;
    else if (Signed ? a[i] < -limit : a[i] <= T(-1))
      result[i] = least;
    else
      result[i] = (Signed ? static_cast<uint64_t>(static_cast<int64_t>(a[i]))
                          : static_cast<uint64_t>(a[i])) &
                  widthMask(width);
  }
}

template <typename To, typename From>
constexpr auto convertLoop =
    &unaryLoop<To, From, [](From a) { return static_cast<To>(a); }>;

/// Rounds to odd: the result is `number` if that is a float, otherwise
/// whichever of the two adjacent floats has an odd significand. Rounding the
/// result to 16 bits is the same as rounding `number` itself (Boldo and
/// Melquiond, "Emulation of FMA and correctly rounded sums").
static float roundToOdd(double number) {
  auto nearest = static_cast<float>(number);
  bool isOdd = std::bit_cast<uint32_t>(nearest) & 1;
  if (isOdd || std::isnan(number) || std::isinf(nearest) ||
      static_cast<double>(nearest) == number)
    return nearest;
  return std::nextafter(
      nearest, static_cast<double>(nearest) < number ? INFINITY : -INFINITY);
}

/// Float to float. `LaneKernel::run` rounds the result to a 16-bit type.
static LaneKernel::Function getFloatResize(const LaneKernel &kernel) {
  bool fromFloat = kernel.operand.lane == Lane::Float,
       toFloat = kernel.result.lane == Lane::Float;
  if (fromFloat)
    return toFloat ? convertLoop<float, float> : convertLoop<double, float>;
  if (toFloat && kernel.result.rounding != Rounding::None)
    return &unaryLoop<float, double, roundToOdd>;
  return toFloat ? convertLoop<float, double> : convertLoop<double, double>;
}

/// Reinterprets bits through the bytes of the element types, since integers
/// of 64 bits and floats represent all widths in memory.
static void bitcastLoop(const LaneKernel &kernel, void *to,
                        const void *const *from, int64_t count) {
  Value value(kernel.operand.lane, {count});
  std::memcpy(value.mutableData(), from[0],
              count * laneBytes(kernel.operand.lane));
  Value result =
      fromBytes(kernel.result, {count}, toBytes(kernel.operand, value));
  std::memcpy(to, result.data(), count * laneBytes(kernel.result.lane));
}

template <bool Signed>
static LaneKernel::Function toFloat(const LaneKernel &kernel) {
  return kernel.result.lane == Lane::Float ? &toFloatLoop<float, Signed>
                                           : &toFloatLoop<double, Signed>;
}
template <bool Signed>
static LaneKernel::Function toInt(const LaneKernel &kernel) {
  return kernel.operand.lane == Lane::Float ? &toIntLoop<float, Signed>
                                            : &toIntLoop<double, Signed>;
}

LaneKernel::Function getArithFunction(Operation *op, LaneKernel &kernel) {
  if (LaneKernel::Function function = getIntegerFunction(op))
    return function;
  if (LaneKernel::Function function = getFloatFunction(op, kernel))
    return function;
  return TypeSwitch<Operation *, LaneKernel::Function>(op)
      .Case<arith::CmpIOp, arith::CmpFOp>(
          [&](auto typed) { return getComparison(typed, kernel); })
      .Case([&](arith::SelectOp) {
        return kernel.result.lane == Lane::Float    ? &selectLoop<float>
               : kernel.result.lane == Lane::Double ? &selectLoop<double>
                                                    : &selectLoop<uint64_t>;
      })
      .Case<arith::ExtSIOp, arith::IndexCastOp>(
          [](auto) { return &resizeLoop<true>; })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp, arith::TruncIOp>(
          [](auto) { return &resizeLoop<false>; })
      .Case([&](arith::SIToFPOp) { return toFloat<true>(kernel); })
      .Case([&](arith::UIToFPOp) { return toFloat<false>(kernel); })
      .Case([&](arith::FPToSIOp) { return toInt<true>(kernel); })
      .Case([&](arith::FPToUIOp) { return toInt<false>(kernel); })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [&](auto) { return getFloatResize(kernel); })
      .Case([](arith::BitcastOp) { return &bitcastLoop; })
      .Default([](Operation *) { return nullptr; });
}

std::optional<LaneKernel> getLaneKernel(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      op->getNumRegions() != 0 || (dialect != "arith" && dialect != "math"))
    return std::nullopt;
  std::optional<Element> operand = getElement(op->getOperand(0).getType()),
                         result = getElement(op->getResult(0).getType());
  std::optional<Element> second =
      getElement(op->getOperand(op->getNumOperands() > 1 ? 1 : 0).getType());
  if (!operand || !result || !second)
    return std::nullopt;
  LaneKernel kernel;
  kernel.operand = *operand;
  kernel.result = *result;
  kernel.second = *second;
  kernel.function = getArithFunction(op, kernel);
  if (!kernel.function)
    kernel.function = getMathFunction(op, kernel);
  return kernel.function ? std::optional(kernel) : std::nullopt;
}

} // namespace lockstep::interpret

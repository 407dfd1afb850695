//===- DoubleMath.cpp - Mathematical functions of f64 ---------------------===//

#include "passes/Codegen/DoubleMath.h"
#include "passes/Codegen/Doubles.h"

using namespace lockstep;
using namespace mlir;

Value Doubles::exp(Value x) {
  static constexpr double kTaylor[] = {1.0,
                                       1.0,
                                       1.0 / 2,
                                       1.0 / 6,
                                       1.0 / 24,
                                       1.0 / 120,
                                       1.0 / 720,
                                       1.0 / 5040,
                                       1.0 / 40320,
                                       1.0 / 362880,
                                       1.0 / 3628800,
                                       1.0 / 39916800,
                                       1.0 / 479001600,
                                       1.0 / 6227020800.0};
  Value isLarge = isGreater(x, 709.782712893384),
        isSmall = isLess(x, -745.1332191019412);
  Value outside = arith::OrIOp::create(
      b, loc, arith::OrIOp::create(b, loc, isLarge, isSmall), isNaN(x));
  Value inside = select(outside, number(0), x);
  Value n = math::FloorOp::create(
      b, loc, fma(inside, number(1.4426950408889634), number(0.5)));
  Value rest = fma(n, number(-6.93147180369123816490e-01), inside);
  rest = fma(n, number(-1.90821492927058770002e-10), rest);
  // In two steps, since 2^n may not be a normal number.
  Value whole = toInteger(n),
        half = arith::ShRSIOp::create(b, loc, whole, integer(1));
  Value result = mul(mul(polynomial(rest, kTaylor), powerOfTwo(half)),
                     powerOfTwo(arith::SubIOp::create(b, loc, whole, half)));
  result = select(isLarge, infinity(), result);
  result = select(isSmall, number(0), result);
  return select(isNaN(x), x, result);
}

Value Doubles::expm1(Value x) {
  static constexpr double kTaylor[] = {1.0,
                                       1.0 / 2,
                                       1.0 / 6,
                                       1.0 / 24,
                                       1.0 / 120,
                                       1.0 / 720,
                                       1.0 / 5040,
                                       1.0 / 40320,
                                       1.0 / 362880,
                                       1.0 / 3628800,
                                       1.0 / 39916800,
                                       1.0 / 479001600,
                                       1.0 / 6227020800.0,
                                       1.0 / 87178291200.0};
  return select(isLess(abs(x), 0.4), mul(x, polynomial(x, kTaylor)),
                sub(exp(x), number(1)));
}

Doubles::Scaled Doubles::split(Value x) {
  Value isTiny = isLess(x, 2.2250738585072014e-308);
  Value pattern = bits(select(isTiny, mul(x, number(18014398509481984.0)), x));
  Value exponent = arith::SubIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, pattern, integer(52)),
      integer(1023));
  Value e = sub(fromInteger(exponent), select(isTiny, number(54), number(0)));
  Value m = fromBits(arith::OrIOp::create(
      b, loc, arith::AndIOp::create(b, loc, pattern, integer(0xfffffffffffff)),
      integer(0x3ff0000000000000)));
  Value isUpper = isGreater(m, 1.4142135623730951);
  return {select(isUpper, mul(m, number(0.5)), m),
          select(isUpper, add(e, number(1)), e)};
}

Value Doubles::log(Value x) {
  auto [m, e] = split(x);
  Value f = sub(m, number(1)), s = div(f, add(f, number(2))), z = mul(s, s),
        w = mul(z, z);
  Value even =
      mul(w, polynomial(w, {3.999999999940941908e-01, 2.222219843214978396e-01,
                            1.531383769920937332e-01}));
  Value odd = mul(
      z, polynomial(w, {6.666666666666735130e-01, 2.857142874366239149e-01,
                        1.818357216161805012e-01, 1.479819860511658591e-01}));
  Value half = mul(number(0.5), mul(f, f));
  Value correction = fma(e, number(1.90821492927058770002e-10),
                         mul(s, add(half, add(even, odd))));
  Value result = sub(mul(e, number(6.93147180369123816490e-01)),
                     sub(sub(half, correction), f));
  result = select(isEqual(x, infinity()), x, result);
  result = select(isEqual(x, number(0)),
                  number(-std::numeric_limits<double>::infinity()), result);
  return select(compare(arith::CmpFPredicate::ULT, x, number(0)), nan(),
                result);
}

Value Doubles::log1p(Value x) {
  Value sum = add(x, number(1));
  Value lost =
      div(sub(x, sub(sum, number(1))), sum); // what rounding the sum has lost
  Value result = add(log(sum), lost);
  Value isEnd = arith::OrIOp::create(b, loc, isEqual(sum, number(0)),
                                     isEqual(sum, infinity()));
  result = select(isEnd, log(sum), result);
  return select(isEqual(x, number(0)), x, result); // with its sign
}

Value Doubles::tanh(Value x) {
  Value size = abs(x);
  Value isLarge = isGreater(size, 22);
  Value t = expm1(mul(number(2), select(isLarge, number(22), size)));
  Value result = select(isLarge, number(1), div(t, add(t, number(2))));
  return withSign(result, x);
}

/// The logarithm to about 2^-64 of itself: log m = 2 (s + s^3/3 + s^5/5 + ...)
/// with s = (m - 1) / (m + 1), where s and the first two terms are pairs of
/// numbers.
Doubles::Pair Doubles::logOfPositive(Value x) {
  auto [m, e] = split(x);
  Value f = sub(m, number(1));
  Value above = add(m, number(1));
  Value lost = sub(m, sub(above, number(1)));
  Value s = div(f, above), minus = arith::NegFOp::create(b, loc, s);
  Pair ratio = {s, div(fma(minus, lost, fma(minus, above, f)), above)};
  Pair square = product(ratio, ratio);
  SmallVector<double> tail;
  for (int n = 5; n <= 27; n += 2)
    tail.push_back(2.0 / n);
  Pair factor = exactSum(number(2.0 / 3),
                         mul(square.high, polynomial(square.high, tail)));
  factor.low =
      add(factor.low, number(3.7007434154171886e-17)); // what 2/3 has lost
  Pair cubic = product(ratio, product(square, factor));
  Value two = number(2);
  Pair logM = exactSum(mul(two, ratio.high), cubic.high);
  logM.low = add(logM.low, fma(two, ratio.low, cubic.low));
  // The high part of log 2 has zeros at its end: its product with e is exact.
  Pair result = exactSum(mul(e, number(6.93147180369123816490e-01)), logM.high);
  return exactSum(
      result.high,
      add(result.low, fma(e, number(1.90821492927058770002e-10), logM.low)));
}

/// exp(y log size), which amplifies an error of the logarithm up to 700 times.
Value Doubles::powOfPositive(Value size, Value y) {
  Pair logarithm = logOfPositive(size);
  Pair exponent = exactProduct(y, logarithm.high);
  Value low = fma(y, logarithm.low, exponent.low);
  // The logarithms of zero and infinity are infinite.
  Value ends = select(isEqual(size, number(0)),
                      number(-std::numeric_limits<double>::infinity()), size);
  Value isEnd = arith::OrIOp::create(
      b, loc, isEqual(size, number(0)),
      compare(arith::CmpFPredicate::UEQ, size, infinity()));
  Value high = select(isEnd, mul(y, ends), exponent.high);
  Value power = exp(high);
  // If exp is zero or infinite, so is the result; the low part may be any
  // number in that case.
  Value isInside = arith::AndIOp::create(
      b, loc, isLess(abs(high), 1000),
      isLess(power, std::numeric_limits<double>::infinity()));
  return select(isInside, fma(power, low, power), power);
}

Value Doubles::pow(Value x, Value y, bool isPrecise) {
  Value size = abs(x);
  Value result = isPrecise ? powOfPositive(size, y) : exp(mul(y, log(size)));
  Value isWhole = isEqual(math::FloorOp::create(b, loc, y), y);
  Value half = mul(y, number(0.5));
  Value isOdd =
      arith::AndIOp::create(b, loc, isWhole,
                            compare(arith::CmpFPredicate::ONE,
                                    math::FloorOp::create(b, loc, half), half));
  Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                           bits(x), integer(0));
  Value flips = arith::AndIOp::create(b, loc, isNegative, isOdd);
  result = select(flips, arith::NegFOp::create(b, loc, result), result);
  // A finite negative base has no real power with a fractional exponent.
  Value isFinite = compare(arith::CmpFPredicate::ONE, size, infinity());
  Value hasNone = arith::AndIOp::create(
      b, loc, isLess(x, 0),
      arith::AndIOp::create(
          b, loc, isFinite,
          arith::XOrIOp::create(b, loc, isWhole,
                                constant(b.getBoolAttr(true)))));
  result = select(hasNone, nan(), result);
  Value isNumber = arith::OrIOp::create(b, loc, isNaN(x), isNaN(y));
  result = select(isNumber, nan(), result);
  // 1^y and x^0 are 1, also if the other operand is NaN, and so is (-1)^inf.
  Value minusOne = arith::AndIOp::create(b, loc, isEqual(x, number(-1)),
                                         isEqual(abs(y), infinity()));
  Value isOne =
      arith::OrIOp::create(b, loc,
                           arith::OrIOp::create(b, loc, isEqual(x, number(1)),
                                                isEqual(y, number(0))),
                           minusOne);
  return select(isOne, number(1), result);
}

/// The power with exponent 1/3, and one step of Newton's method, since 1/3 is
/// rounded. Small numbers are multiplied by 2^162 first, so that the error of
/// the root is not subnormal.
Value Doubles::cbrt(Value x) {
  Value isSmall = isLess(abs(x), 0x1p-900);
  Value size = select(isSmall, mul(abs(x), number(0x1p162)), abs(x));
  Value root = powOfPositive(size, number(1.0 / 3));
  Value square = mul(root, root);
  Value excess = fma(square, root, arith::NegFOp::create(b, loc, size));
  Value better = sub(root, div(excess, mul(number(3), square)));
  // Zeros, infinities and NaN are their own roots.
  Value isOrdinary = arith::AndIOp::create(
      b, loc, isGreater(size, 0),
      isLess(size, std::numeric_limits<double>::infinity()));
  Value result = select(isOrdinary, better, size);
  result = select(isSmall, mul(result, number(0x1p-54)), result);
  return withSign(result, x);
}

/// Rounds to the nearest integer, halves away from zero. The difference to the
/// integral part is exact.
Value Doubles::round(Value x) {
  Value whole = math::TruncOp::create(b, loc, x);
  Value isAway =
      compare(arith::CmpFPredicate::OGE, abs(sub(x, whole)), number(0.5));
  return select(isAway, add(whole, withSign(number(1), x)), whole);
}

/// Adds the known arctangent of the nearest of 0, 1/2, 1, 3/2 and infinity to
/// that of the difference, which is computed by the polynomial of fdlibm's
/// s_atan.c (Sun Microsystems).
Value Doubles::atan(Value x) {
  struct Interval {
    double end; // of the absolute value
    Value numerator, denominator;
    double high, low; // the known arctangent
  };
  Value size = abs(x), one = number(1);
  const Interval intervals[] = {
      {11.0 / 16, fma(number(2), size, number(-1)), add(number(2), size),
       4.63647609000806093515e-01, 2.26987774529616870924e-17},
      {19.0 / 16, sub(size, one), add(size, one), 7.85398163397448278999e-01,
       3.06161699786838301793e-17},
      {39.0 / 16, sub(size, number(1.5)), fma(number(1.5), size, one),
       9.82793723247329054082e-01, 1.39033110312309984516e-17},
      {std::numeric_limits<double>::infinity(), number(-1), size,
       1.57079632679489655800e+00, 6.12323399573676603587e-17}};
  Value numerator = size, denominator = one, high = number(0), low = number(0),
        begin = number(7.0 / 16);
  for (const Interval &interval : intervals) {
    Value isHere = compare(arith::CmpFPredicate::OGE, size, begin);
    numerator = select(isHere, interval.numerator, numerator);
    denominator = select(isHere, interval.denominator, denominator);
    high = select(isHere, number(interval.high), high);
    low = select(isHere, number(interval.low), low);
    begin = number(interval.end);
  }
  Value r = div(numerator, denominator), z = mul(r, r);
  Value rest = mul(
      mul(r, z),
      polynomial(z, {3.33333333333329318027e-01, -1.99999999998764832476e-01,
                     1.42857142725034663711e-01, -1.11111104054623557880e-01,
                     9.09088713343650656196e-02, -7.69187620504482999495e-02,
                     6.66107313738753120669e-02, -5.83357013379057348645e-02,
                     4.97687799461593236017e-02, -3.65315727442169155270e-02,
                     1.62858201153657823623e-02}));
  Value result = sub(high, sub(sub(rest, low), r));
  return select(isNaN(x), x, withSign(result, x));
}

/// The angle of the point (x, y), from the arctangent of the quotient of the
/// smaller coordinate and the larger one.
Value Doubles::atan2(Value y, Value x) {
  Value width = abs(x), height = abs(y);
  Value isSteep = compare(arith::CmpFPredicate::OGT, height, width);
  Value smaller = select(isSteep, width, height),
        larger = select(isSteep, height, width);
  Value ratio = div(smaller, larger);
  // Two zeros, or two infinities.
  ratio = select(isEqual(larger, number(0)), number(0), ratio);
  ratio = select(isEqual(smaller, infinity()), number(1), ratio);
  Value angle = atan(ratio);
  angle = select(isSteep,
                 sub(number(1.57079632679489655800e+00),
                     sub(angle, number(6.12323399573676603587e-17))),
                 angle);
  Value isLeft = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                       bits(x), integer(0));
  angle = select(isLeft,
                 sub(number(3.14159265358979311600e+00),
                     sub(angle, number(1.22464679914735317720e-16))),
                 angle);
  Value isNumber = arith::OrIOp::create(b, loc, isNaN(x), isNaN(y));
  return select(isNumber, nan(), withSign(angle, y));
}

namespace {

/// Replaces a function of f64; of f32 too if `extends`.
template <typename OpTy, Value (*compute)(Doubles &, ValueRange), bool extends>
struct Expand : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    if (!element.isF64() && !(extends && element.isF32()))
      return failure();
    Doubles doubles(rewriter, op.getLoc(), op.getType());
    SmallVector<Value> operands(op->getOperands());
    Type wide = doubles.getType(rewriter.getF64Type());
    if (element.isF32())
      for (Value &operand : operands)
        operand = arith::ExtFOp::create(rewriter, op.getLoc(), wide, operand);
    Value result = compute(doubles, operands);
    if (element.isF32())
      result =
          arith::TruncFOp::create(rewriter, op.getLoc(), op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

static Value computeExp(Doubles &d, ValueRange x) { return d.exp(x[0]); }
static Value computeExpM1(Doubles &d, ValueRange x) { return d.expm1(x[0]); }
static Value computeLog(Doubles &d, ValueRange x) { return d.log(x[0]); }
static Value computeLog2(Doubles &d, ValueRange x) {
  return d.mul(d.log(x[0]), d.number(1.4426950408889634));
}
static Value computeLog1p(Doubles &d, ValueRange x) { return d.log1p(x[0]); }
static Value computeTanh(Doubles &d, ValueRange x) { return d.tanh(x[0]); }
static Value computeSin(Doubles &d, ValueRange x) {
  return d.sinOrCos(x[0], d.reduceAngle(x[0]), false);
}
static Value computeCos(Doubles &d, ValueRange x) {
  return d.sinOrCos(x[0], d.reduceAngle(x[0]), true);
}
static Value computeTan(Doubles &d, ValueRange x) {
  Doubles::Angle angle = d.reduceAngle(x[0]);
  return d.div(d.sinOrCos(x[0], angle, false), d.sinOrCos(x[0], angle, true));
}
static Value computeCbrt(Doubles &d, ValueRange x) { return d.cbrt(x[0]); }
static Value computeAtan(Doubles &d, ValueRange x) { return d.atan(x[0]); }
static Value computeAtan2(Doubles &d, ValueRange x) {
  return d.atan2(x[0], x[1]);
}
static Value computeRound(Doubles &d, ValueRange x) { return d.round(x[0]); }
static Value computePow(Doubles &d, ValueRange x) {
  return d.pow(x[0], x[1], /*isPrecise=*/true);
}
static Value computePowOfFloats(Doubles &d, ValueRange x) {
  return d.pow(x[0], x[1], /*isPrecise=*/false);
}

void lockstep::populateDoubleMathPatterns(RewritePatternSet &patterns) {
  // A higher benefit than upstream's patterns for the same operations.
  PatternBenefit benefit = 10;
  patterns.add<Expand<math::ExpOp, computeExp, false>,
               Expand<math::ExpM1Op, computeExpM1, false>,
               Expand<math::LogOp, computeLog, false>,
               Expand<math::Log2Op, computeLog2, false>,
               Expand<math::Log1pOp, computeLog1p, false>,
               Expand<math::TanhOp, computeTanh, false>,
               Expand<math::CbrtOp, computeCbrt, true>,
               Expand<math::RoundOp, computeRound, false>,
               Expand<math::AtanOp, computeAtan, true>,
               Expand<math::Atan2Op, computeAtan2, true>,
               Expand<math::SinOp, computeSin, true>,
               Expand<math::CosOp, computeCos, true>,
               Expand<math::TanOp, computeTan, true>,
               Expand<math::PowFOp, computePowOfFloats, true>>(
      patterns.getContext(), benefit);
  // f64 needs a more precise method than f32 that is extended to f64.
  patterns.add<Expand<math::PowFOp, computePow, false>>(
      patterns.getContext(), 2 * benefit.getBenefit());
}

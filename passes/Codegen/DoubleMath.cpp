//===- DoubleMath.cpp - Mathematical functions of f64 ---------------------===//

#include "passes/Codegen/DoubleMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace lockstep;
using namespace mlir;

namespace {

/// Arithmetic on scalars or vectors like the operand of a function.
class Doubles {
public:
  Doubles(PatternRewriter &rewriter, Location loc, Type like) : b(rewriter), loc(loc), like(like) {}

  Type getType(Type element) {
    auto vector = dyn_cast<VectorType>(like);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(TypedAttr attribute) {
    if (auto vector = dyn_cast<VectorType>(like))
      attribute = DenseElementsAttr::get(vector.clone(attribute.getType()), Attribute(attribute));
    return arith::ConstantOp::create(b, loc, attribute);
  }
  Value number(double value) { return constant(b.getF64FloatAttr(value)); }
  Value integer(int64_t value) { return constant(b.getI64IntegerAttr(value)); }
  Value infinity() { return number(std::numeric_limits<double>::infinity()); }
  Value nan() { return number(std::numeric_limits<double>::quiet_NaN()); }

  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, loc, condition, x, y); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) { return arith::CmpFOp::create(b, loc, predicate, x, y); }
  Value isLess(Value x, double y) { return compare(arith::CmpFPredicate::OLT, x, number(y)); }
  Value isGreater(Value x, double y) { return compare(arith::CmpFPredicate::OGT, x, number(y)); }
  Value isEqual(Value x, Value y) { return compare(arith::CmpFPredicate::OEQ, x, y); }
  Value isNaN(Value x) { return compare(arith::CmpFPredicate::UNO, x, x); }
  Value bits(Value x) { return arith::BitcastOp::create(b, loc, getType(b.getI64Type()), x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, loc, getType(b.getF64Type()), x); }
  Value isBitSet(Value x, int64_t bit) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, arith::AndIOp::create(b, loc, x, integer(bit)), integer(0));
  }

  /// A whole number below 2^31 as an integer; the conversion of 32 bits is one instruction everywhere.
  Value toInteger(Value x) {
    Value narrow = arith::FPToSIOp::create(b, loc, getType(b.getI32Type()), x);
    return arith::ExtSIOp::create(b, loc, getType(b.getI64Type()), narrow);
  }
  Value fromInteger(Value x) {
    Value narrow = arith::TruncIOp::create(b, loc, getType(b.getI32Type()), x);
    return arith::SIToFPOp::create(b, loc, getType(b.getF64Type()), narrow);
  }
  /// 2^n for a normal result.
  Value powerOfTwo(Value n) {
    return fromBits(arith::ShLIOp::create(b, loc, arith::AddIOp::create(b, loc, n, integer(1023)), integer(52)));
  }
  /// c[0] + x * (c[1] + x * ...).
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = number(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(coefficient));
    return sum;
  }

  /// A positive number as m * 2^e, m between the roots of 1/2 and 2. Others give some finite m and e.
  struct Scaled {
    Value m, e;
  };
  Scaled split(Value x);
  /// A value and what rounding it has lost.
  struct Pair {
    Value high, low;
  };
  /// The sum, where x is not smaller than y or is zero; and the product.
  Pair exactSum(Value x, Value y) {
    Value sum = add(x, y);
    return {sum, sub(y, sub(sum, x))};
  }
  Pair exactProduct(Value x, Value y) {
    Value product = mul(x, y);
    return {product, fma(x, y, arith::NegFOp::create(b, loc, product))};
  }
  Pair product(Pair x, Pair y) {
    Pair result = exactProduct(x.high, y.high);
    result.low = fma(x.high, y.low, fma(x.low, y.high, result.low));
    return result;
  }
  Pair logOfPositive(Value x);

  Value exp(Value x);
  Value expm1(Value x);
  Value log(Value x);
  Value log1p(Value x);
  Value tanh(Value x);
  Value sinOrCos(Value x, bool isCos);
  /// x^y, and size^y by what it is for numbers that are neither zero nor infinite.
  Value pow(Value x, Value y, bool isPrecise);
  Value powOfPositive(Value size, Value y);

  PatternRewriter &b;
  Location loc;
  Type like;
};

Value Doubles::exp(Value x) {
  static constexpr double kTaylor[] = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  Value isLarge = isGreater(x, 709.782712893384), isSmall = isLess(x, -745.1332191019412);
  Value outside = arith::OrIOp::create(b, loc, arith::OrIOp::create(b, loc, isLarge, isSmall), isNaN(x));
  Value inside = select(outside, number(0), x);
  Value n = math::FloorOp::create(b, loc, fma(inside, number(1.4426950408889634), number(0.5)));
  Value rest = fma(n, number(-6.93147180369123816490e-01), inside);
  rest = fma(n, number(-1.90821492927058770002e-10), rest);
  // In two steps, since 2^n may not be a normal number.
  Value whole = toInteger(n), half = arith::ShRSIOp::create(b, loc, whole, integer(1));
  Value result = mul(mul(polynomial(rest, kTaylor), powerOfTwo(half)), powerOfTwo(arith::SubIOp::create(b, loc, whole, half)));
  result = select(isLarge, infinity(), result);
  result = select(isSmall, number(0), result);
  return select(isNaN(x), x, result);
}

Value Doubles::expm1(Value x) {
  static constexpr double kTaylor[] = {
      1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,          1.0 / 5040,
      1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0, 1.0 / 87178291200.0};
  return select(isLess(abs(x), 0.4), mul(x, polynomial(x, kTaylor)), sub(exp(x), number(1)));
}

Doubles::Scaled Doubles::split(Value x) {
  Value isTiny = isLess(x, 2.2250738585072014e-308);
  Value pattern = bits(select(isTiny, mul(x, number(18014398509481984.0)), x));
  Value exponent = arith::SubIOp::create(b, loc, arith::ShRUIOp::create(b, loc, pattern, integer(52)), integer(1023));
  Value e = sub(fromInteger(exponent), select(isTiny, number(54), number(0)));
  Value m =
      fromBits(arith::OrIOp::create(b, loc, arith::AndIOp::create(b, loc, pattern, integer(0xfffffffffffff)), integer(0x3ff0000000000000)));
  Value isUpper = isGreater(m, 1.4142135623730951);
  return {select(isUpper, mul(m, number(0.5)), m), select(isUpper, add(e, number(1)), e)};
}

Value Doubles::log(Value x) {
  auto [m, e] = split(x);
  Value f = sub(m, number(1)), s = div(f, add(f, number(2))), z = mul(s, s), w = mul(z, z);
  Value even = mul(w, polynomial(w, {3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01}));
  Value odd =
      mul(z, polynomial(w, {6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01}));
  Value half = mul(number(0.5), mul(f, f));
  Value correction = fma(e, number(1.90821492927058770002e-10), mul(s, add(half, add(even, odd))));
  Value result = sub(mul(e, number(6.93147180369123816490e-01)), sub(sub(half, correction), f));
  result = select(isEqual(x, infinity()), x, result);
  result = select(isEqual(x, number(0)), number(-std::numeric_limits<double>::infinity()), result);
  return select(compare(arith::CmpFPredicate::ULT, x, number(0)), nan(), result);
}

Value Doubles::log1p(Value x) {
  Value sum = add(x, number(1));
  Value lost = div(sub(x, sub(sum, number(1))), sum); // what rounding the sum has lost
  Value result = add(log(sum), lost);
  Value isEnd = arith::OrIOp::create(b, loc, isEqual(sum, number(0)), isEqual(sum, infinity()));
  return select(isEnd, log(sum), result);
}

Value Doubles::tanh(Value x) {
  Value size = abs(x);
  Value isLarge = isGreater(size, 22);
  Value t = expm1(mul(number(2), select(isLarge, number(22), size)));
  Value result = select(isLarge, number(1), div(t, add(t, number(2))));
  return math::CopySignOp::create(b, loc, result, x);
}

Value Doubles::sinOrCos(Value x, bool isCos) {
  // Far away, whole turns are taken off first; the nearer, the more exact.
  Value isFar = isGreater(abs(x), 1e9);
  Value turns = math::RoundEvenOp::create(b, loc, mul(x, number(0.15915494309189535)));
  Value folded = fma(turns, number(-6.283185307179586), x);
  Value isStillFar = compare(arith::CmpFPredicate::UGT, abs(folded), number(1e9));
  folded = select(isStillFar, number(0), folded);
  Value angle = select(isFar, folded, x);
  angle = select(isNaN(x), number(0), angle);

  Value n = math::RoundEvenOp::create(b, loc, mul(angle, number(0.6366197723675814)));
  Value r = fma(n, number(-1.5707963267948966), angle);
  r = fma(n, number(-6.123233995736766e-17), r);
  r = fma(n, number(1.4973849048591833e-33), r);
  Value z = mul(r, r);
  Value sine = fma(mul(r, z),
                   polynomial(z, {-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
                                  2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10}),
                   r);
  Value cosine = fma(mul(z, z),
                     polynomial(z, {4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
                                    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11}),
                     fma(z, number(-0.5), number(1)));
  Value quarter = toInteger(n);
  if (isCos)
    quarter = arith::AddIOp::create(b, loc, quarter, integer(1));
  Value result = select(isBitSet(quarter, 1), cosine, sine);
  result = select(isBitSet(quarter, 2), arith::NegFOp::create(b, loc, result), result);
  Value isBad = arith::OrIOp::create(b, loc, isNaN(x), isEqual(abs(x), infinity()));
  return select(isBad, nan(), result);
}

/// The logarithm to about 2^-64 of itself: log m = 2 (s + s^3/3 + s^5/5 + ...) with s = (m - 1) / (m + 1), where s and the first two terms
/// are pairs of numbers.
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
  Pair factor = exactSum(number(2.0 / 3), mul(square.high, polynomial(square.high, tail)));
  factor.low = add(factor.low, number(3.7007434154171886e-17)); // what 2/3 has lost
  Pair cubic = product(ratio, product(square, factor));
  Value two = number(2);
  Pair logM = exactSum(mul(two, ratio.high), cubic.high);
  logM.low = add(logM.low, fma(two, ratio.low, cubic.low));
  // The high part of log 2 has zeros at its end: its product with e is exact.
  Pair result = exactSum(mul(e, number(6.93147180369123816490e-01)), logM.high);
  return exactSum(result.high, add(result.low, fma(e, number(1.90821492927058770002e-10), logM.low)));
}

/// exp(y log size), where an error of the logarithm would come out up to 700 times as large.
Value Doubles::powOfPositive(Value size, Value y) {
  Pair logarithm = logOfPositive(size);
  Pair exponent = exactProduct(y, logarithm.high);
  Value low = fma(y, logarithm.low, exponent.low);
  // Of zero and infinity, the logarithms are known.
  Value ends = select(isEqual(size, number(0)), number(-std::numeric_limits<double>::infinity()), size);
  Value isEnd = arith::OrIOp::create(b, loc, isEqual(size, number(0)), compare(arith::CmpFPredicate::UEQ, size, infinity()));
  Value high = select(isEnd, mul(y, ends), exponent.high);
  Value power = exp(high);
  // Where exp is zero or infinite, so is the result; the low part may be anything there.
  Value isInside = arith::AndIOp::create(b, loc, isLess(abs(high), 1000), isLess(power, std::numeric_limits<double>::infinity()));
  return select(isInside, fma(power, low, power), power);
}

Value Doubles::pow(Value x, Value y, bool isPrecise) {
  Value size = abs(x);
  Value result = isPrecise ? powOfPositive(size, y) : exp(mul(y, log(size)));
  Value isWhole = isEqual(math::FloorOp::create(b, loc, y), y);
  Value half = mul(y, number(0.5));
  Value isOdd = arith::AndIOp::create(b, loc, isWhole, compare(arith::CmpFPredicate::ONE, math::FloorOp::create(b, loc, half), half));
  Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, bits(x), integer(0));
  Value flips = arith::AndIOp::create(b, loc, isNegative, isOdd);
  result = select(flips, arith::NegFOp::create(b, loc, result), result);
  // A finite negative base has no power that is not whole.
  Value isFinite = compare(arith::CmpFPredicate::ONE, size, infinity());
  Value hasNone = arith::AndIOp::create(
      b, loc, isLess(x, 0), arith::AndIOp::create(b, loc, isFinite, arith::XOrIOp::create(b, loc, isWhole, constant(b.getBoolAttr(true)))));
  result = select(hasNone, nan(), result);
  Value isNumber = arith::OrIOp::create(b, loc, isNaN(x), isNaN(y));
  result = select(isNumber, nan(), result);
  // 1^y and x^0 are 1, and (-1)^inf too, whatever the other is.
  Value minusOne = arith::AndIOp::create(b, loc, isEqual(x, number(-1)), isEqual(abs(y), infinity()));
  Value isOne = arith::OrIOp::create(b, loc, arith::OrIOp::create(b, loc, isEqual(x, number(1)), isEqual(y, number(0))), minusOne);
  return select(isOne, number(1), result);
}

/// Replaces a function of f64; of f32 too if `extends`.
template <typename OpTy, Value (*compute)(Doubles &, ValueRange), bool extends> struct Expand : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
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
      result = arith::TruncFOp::create(rewriter, op.getLoc(), op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

static Value computeExp(Doubles &d, ValueRange x) { return d.exp(x[0]); }
static Value computeExpM1(Doubles &d, ValueRange x) { return d.expm1(x[0]); }
static Value computeLog(Doubles &d, ValueRange x) { return d.log(x[0]); }
static Value computeLog2(Doubles &d, ValueRange x) { return d.mul(d.log(x[0]), d.number(1.4426950408889634)); }
static Value computeLog1p(Doubles &d, ValueRange x) { return d.log1p(x[0]); }
static Value computeTanh(Doubles &d, ValueRange x) { return d.tanh(x[0]); }
static Value computeSin(Doubles &d, ValueRange x) { return d.sinOrCos(x[0], false); }
static Value computeCos(Doubles &d, ValueRange x) { return d.sinOrCos(x[0], true); }
static Value computeTan(Doubles &d, ValueRange x) { return d.div(d.sinOrCos(x[0], false), d.sinOrCos(x[0], true)); }
static Value computePow(Doubles &d, ValueRange x) { return d.pow(x[0], x[1], /*isPrecise=*/true); }
static Value computePowOfFloats(Doubles &d, ValueRange x) { return d.pow(x[0], x[1], /*isPrecise=*/false); }

void lockstep::populateDoubleMathPatterns(RewritePatternSet &patterns) {
  // Before upstream's patterns for the same operations.
  PatternBenefit benefit = 10;
  patterns.add<Expand<math::ExpOp, computeExp, false>, Expand<math::ExpM1Op, computeExpM1, false>, Expand<math::LogOp, computeLog, false>,
               Expand<math::Log2Op, computeLog2, false>, Expand<math::Log1pOp, computeLog1p, false>,
               Expand<math::TanhOp, computeTanh, false>, Expand<math::SinOp, computeSin, true>, Expand<math::CosOp, computeCos, true>,
               Expand<math::TanOp, computeTan, true>, Expand<math::PowFOp, computePowOfFloats, true>>(patterns.getContext(), benefit);
  // f64 itself needs more than the f64 that f32 is extended to.
  patterns.add<Expand<math::PowFOp, computePow, false>>(patterns.getContext(), 2 * benefit.getBenefit());
}

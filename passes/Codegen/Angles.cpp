//===- Angles.cpp - Reduction of angles, sine and cosine ------------------===//

#include "passes/Codegen/Doubles.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace lockstep;
using namespace mlir;

/// Angles of at least this size are reduced with as many bits of 2/pi as they
/// need, smaller ones with pi/2 in three parts.
static constexpr double kLargeAngle = 1e9;

/// The fractional bits of 2/pi, after a word of zeros. The 192 bits that the
/// reduction of an angle needs begin in one of the first 17 words.
static constexpr uint64_t kTwoOverPi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0,
    0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

/// The method of Payne and Hanek: only those bits of 2/pi are multiplied by `x`
/// whose products are neither multiples of four quarters nor too small to
/// affect the result. For finite `x`, |x| of at least 2^29.
Doubles::Angle Doubles::reduceLarge(Value x) {
  Value pattern = bits(x), biased = arith::AndIOp::create(
                               b, loc, shiftRight(pattern, 52), integer(0x7ff));
  Value mantissa =
      orOf(arith::AndIOp::create(b, loc, pattern, integer(0xfffffffffffff)),
           integer(int64_t(1) << 52));
  // |x| is mantissa * 2^(biased - 1075). The bit with the weight of two
  // quarters is at `position` of the table.
  Value position =
      arith::SubIOp::create(b, loc, biased, integer(1075 + 2 - 64));
  Value word = shiftRight(position, 6),
        shift = arith::AndIOp::create(b, loc, position, integer(63));

  // Words `word` to `word` + 3, by binary search: each bit of `word` selects
  // the upper or the lower half of the remaining words.
  SmallVector<Value> words;
  for (uint64_t constant : kTwoOverPi)
    words.push_back(integer(static_cast<int64_t>(constant)));
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    Value isUpper = isBitSet(word, distance);
    size_t needed = std::min<size_t>(words.size(), distance + 3);
    for (size_t i = 0; i < needed; ++i)
      words[i] = i + distance < words.size()
                     ? select(isUpper, words[i + distance], words[i])
                     : words[i];
    words.truncate(needed);
  }
  Value complement = arith::SubIOp::create(b, loc, integer(63), shift);
  for (size_t i = 0; i < 3; ++i) {
    Value carried = shiftRight(shiftRight(words[i + 1], 1), complement);
    words[i] = orOf(arith::ShLIOp::create(b, loc, words[i], shift), carried);
  }

  // Their product with the mantissa; the overflow of the first word is a
  // multiple of four quarters.
  auto last = arith::MulUIExtendedOp::create(b, loc, words[2], mantissa);
  auto middle = arith::MulUIExtendedOp::create(b, loc, words[1], mantissa);
  auto sum =
      arith::AddUIExtendedOp::create(b, loc, middle.getLow(), last.getHigh());
  Value carry = arith::AddIOp::create(
      b, loc, middle.getHigh(),
      arith::ExtUIOp::create(b, loc, middle.getHigh().getType(),
                             sum.getOverflow()));
  Value first = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, words[0], mantissa), carry);
  Value second = sum.getSum();

  // The first two bits are quarters, the others the rest: as a signed number
  // it is between -1/2 and 1/2, and its top bit adds one to the quarters.
  auto withoutQuarters = [&](Value high, Value low) {
    return orOf(arith::ShLIOp::create(b, loc, high, integer(2)),
                shiftRight(low, 62));
  };
  Value rest = withoutQuarters(first, second),
        following = withoutQuarters(second, last.getLow());
  Value quarter = arith::AddIOp::create(b, loc, shiftRight(first, 62),
                                        shiftRight(rest, 63));
  auto lowHalf = [&](Value x) {
    // The bits of the number 2^52 + half.
    Value half = arith::AndIOp::create(b, loc, x, integer(0xffffffff));
    return sub(fromBits(orOf(half, integer(0x4330000000000000))),
               number(4503599627370496.0));
  };
  Value top = fromInteger(arith::ShRSIOp::create(b, loc, rest, integer(32)));
  Pair quarters =
      exactSum(mul(top, number(0x1p-32)), mul(lowHalf(rest), number(0x1p-64)));
  Value small = fma(lowHalf(following), number(0x1p-128),
                    mul(lowHalf(shiftRight(following, 32)), number(0x1p-96)));
  quarters = exactSum(quarters.high, add(quarters.low, small));
  Value low = fma(quarters.high, number(6.123233995736766e-17),
                  mul(quarters.low, number(1.5707963267948966)));
  Value r = fma(quarters.high, number(1.5707963267948966), low);

  // For a negative angle, both are negated.
  Value isNegative = isLess(x, 0);
  return {select(isNegative, arith::NegFOp::create(b, loc, r), r),
          select(isNegative, arith::SubIOp::create(b, loc, integer(0), quarter),
                 quarter)};
}

Doubles::Angle Doubles::reduceSmall(Value x) {
  Value n =
      math::RoundEvenOp::create(b, loc, mul(x, number(0.6366197723675814)));
  Value r = fma(n, number(-1.5707963267948966), x);
  r = fma(n, number(-6.123233995736766e-17), r);
  r = fma(n, number(1.4973849048591833e-33), r);
  return {r, toInteger(n)};
}

Doubles::Angle Doubles::reduceAngle(Value x) {
  Value isLarge =
      compare(arith::CmpFPredicate::UGE, abs(x), number(kLargeAngle));
  Angle small = reduceSmall(select(isLarge, number(0), x));
  // Large angles are rare and expensive: a branch skips their reduction if
  // there are none.
  Value isAnyLarge = isLarge;
  if (auto vector = dyn_cast<VectorType>(like)) {
    auto flat = VectorType::get(vector.getNumElements(), b.getI1Type());
    isAnyLarge = vector::ShapeCastOp::create(b, loc, flat, isLarge);
    isAnyLarge = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR,
                                             isAnyLarge);
  }
  auto branch = scf::IfOp::create(
      b, loc, TypeRange{small.r.getType(), small.quarter.getType()}, isAnyLarge,
      /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Angle large = reduceLarge(x);
    scf::YieldOp::create(b, loc,
                         {select(isLarge, large.r, small.r),
                          select(isLarge, large.quarter, small.quarter)});
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, {small.r, small.quarter});
  }
  return {branch.getResult(0), branch.getResult(1)};
}

Value Doubles::sinOrCos(Value x, Angle angle, bool isCos) {
  auto [r, quarter] = angle;
  Value z = mul(r, r);
  Value sine = fma(
      mul(r, z),
      polynomial(z, {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                     -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                     -2.50507602534068634195e-08, 1.58969099521155010221e-10}),
      r);
  Value cosine = fma(
      mul(z, z),
      polynomial(z, {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                     2.48015872894767294178e-05, -2.75573143513906633035e-07,
                     2.08757232129817482790e-09, -1.13596475577881948265e-11}),
      fma(z, number(-0.5), number(1)));
  if (isCos)
    quarter = arith::AddIOp::create(b, loc, quarter, integer(1));
  Value result = select(isBitSet(quarter, 1), cosine, sine);
  result = select(isBitSet(quarter, 2), arith::NegFOp::create(b, loc, result),
                  result);
  if (!isCos)
    result = select(isEqual(x, number(0)), x, result); // with its sign
  Value isBad =
      arith::OrIOp::create(b, loc, isNaN(x), isEqual(abs(x), infinity()));
  return select(isBad, nan(), result);
}

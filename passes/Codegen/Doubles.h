//===- Doubles.h - Builder of arithmetic on f64 -----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_DOUBLES_H
#define LOCKSTEP_PASSES_CODEGEN_DOUBLES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

namespace lockstep {

/// Builds arithmetic on f64 scalars, or on vectors of the shape of `like`.
class Doubles {
public:
  Doubles(mlir::PatternRewriter &rewriter, mlir::Location loc, mlir::Type like)
      : b(rewriter), loc(loc), like(like) {}

  mlir::Type getType(mlir::Type element) {
    auto vector = llvm::dyn_cast<mlir::VectorType>(like);
    return vector ? mlir::Type(vector.clone(element)) : element;
  }
  mlir::Value constant(mlir::TypedAttr attribute) {
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(like))
      attribute = mlir::DenseElementsAttr::get(
          vector.clone(attribute.getType()), mlir::Attribute(attribute));
    return mlir::arith::ConstantOp::create(b, loc, attribute);
  }
  mlir::Value number(double value) {
    return constant(b.getF64FloatAttr(value));
  }
  mlir::Value integer(int64_t value) {
    return constant(b.getI64IntegerAttr(value));
  }
  mlir::Value infinity() {
    return number(std::numeric_limits<double>::infinity());
  }
  mlir::Value nan() { return number(std::numeric_limits<double>::quiet_NaN()); }

  mlir::Value add(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddFOp::create(b, loc, x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return mlir::arith::SubFOp::create(b, loc, x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulFOp::create(b, loc, x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return mlir::arith::DivFOp::create(b, loc, x, y);
  }
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z) {
    return mlir::math::FmaOp::create(b, loc, x, y, z);
  }
  mlir::Value abs(mlir::Value x) {
    return mlir::math::AbsFOp::create(b, loc, x);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return mlir::arith::SelectOp::create(b, loc, condition, x, y);
  }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value x,
                      mlir::Value y) {
    return mlir::arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  mlir::Value isLess(mlir::Value x, double y) {
    return compare(mlir::arith::CmpFPredicate::OLT, x, number(y));
  }
  mlir::Value isGreater(mlir::Value x, double y) {
    return compare(mlir::arith::CmpFPredicate::OGT, x, number(y));
  }
  mlir::Value isEqual(mlir::Value x, mlir::Value y) {
    return compare(mlir::arith::CmpFPredicate::OEQ, x, y);
  }
  mlir::Value isNaN(mlir::Value x) {
    return compare(mlir::arith::CmpFPredicate::UNO, x, x);
  }
  mlir::Value bits(mlir::Value x) {
    return mlir::arith::BitcastOp::create(b, loc, getType(b.getI64Type()), x);
  }
  mlir::Value fromBits(mlir::Value x) {
    return mlir::arith::BitcastOp::create(b, loc, getType(b.getF64Type()), x);
  }
  mlir::Value isBitSet(mlir::Value x, int64_t bit) {
    return mlir::arith::CmpIOp::create(
        b, loc, mlir::arith::CmpIPredicate::ne,
        mlir::arith::AndIOp::create(b, loc, x, integer(bit)), integer(0));
  }

  mlir::Value orOf(mlir::Value x, mlir::Value y) {
    return mlir::arith::OrIOp::create(b, loc, x, y);
  }
  mlir::Value shiftRight(mlir::Value x, mlir::Value count) {
    return mlir::arith::ShRUIOp::create(b, loc, x, count);
  }
  mlir::Value shiftRight(mlir::Value x, int64_t count) {
    return shiftRight(x, integer(count));
  }

  /// `size`, which is not negative, with the sign of `x`. LLVM cannot select
  /// code for a `copysign` whose result is rounded to f16 afterwards.
  mlir::Value withSign(mlir::Value size, mlir::Value x) {
    mlir::Value isNegative = mlir::arith::CmpIOp::create(
        b, loc, mlir::arith::CmpIPredicate::slt, bits(x), integer(0));
    return select(isNegative, mlir::arith::NegFOp::create(b, loc, size), size);
  }

  /// An integral number below 2^31 as an integer; the conversion to 32 bits is
  /// one instruction on all targets.
  mlir::Value toInteger(mlir::Value x) {
    mlir::Value narrow =
        mlir::arith::FPToSIOp::create(b, loc, getType(b.getI32Type()), x);
    return mlir::arith::ExtSIOp::create(b, loc, getType(b.getI64Type()),
                                        narrow);
  }
  mlir::Value fromInteger(mlir::Value x) {
    mlir::Value narrow =
        mlir::arith::TruncIOp::create(b, loc, getType(b.getI32Type()), x);
    return mlir::arith::SIToFPOp::create(b, loc, getType(b.getF64Type()),
                                         narrow);
  }
  /// 2^n for a normal result.
  mlir::Value powerOfTwo(mlir::Value n) {
    return fromBits(mlir::arith::ShLIOp::create(
        b, loc, mlir::arith::AddIOp::create(b, loc, n, integer(1023)),
        integer(52)));
  }
  /// c[0] + x * (c[1] + x * ...).
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients) {
    mlir::Value sum = number(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(coefficient));
    return sum;
  }

  /// A positive number as m * 2^e, m between the square roots of 1/2 and 2. For
  /// other numbers, m and e are finite but meaningless.
  struct Scaled {
    mlir::Value m, e;
  };
  Scaled split(mlir::Value x);
  /// A number as an unevaluated sum: a rounded value and its rounding error.
  struct Pair {
    mlir::Value high, low;
  };
  /// The exact sum, for |x| >= |y| or x = 0, and the exact product.
  Pair exactSum(mlir::Value x, mlir::Value y) {
    mlir::Value sum = add(x, y);
    return {sum, sub(y, sub(sum, x))};
  }
  Pair exactProduct(mlir::Value x, mlir::Value y) {
    mlir::Value product = mul(x, y);
    return {product, fma(x, y, mlir::arith::NegFOp::create(b, loc, product))};
  }
  Pair product(Pair x, Pair y) {
    Pair result = exactProduct(x.high, y.high);
    result.low = fma(x.high, y.low, fma(x.low, y.high, result.low));
    return result;
  }
  Pair logOfPositive(mlir::Value x);

  mlir::Value exp(mlir::Value x);
  mlir::Value expm1(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value log1p(mlir::Value x);
  mlir::Value tanh(mlir::Value x);
  /// An angle as a number of quarter turns, of which the last two bits matter,
  /// and a remainder within pi/4 of zero.
  struct Angle {
    mlir::Value r, quarter;
  };
  Angle reduceAngle(mlir::Value x);
  Angle reduceSmall(mlir::Value x);
  Angle reduceLarge(mlir::Value x);
  mlir::Value sinOrCos(mlir::Value x, Angle angle, bool isCos);
  /// x^y; `isPrecise` computes the logarithm with extra precision.
  mlir::Value pow(mlir::Value x, mlir::Value y, bool isPrecise);
  mlir::Value cbrt(mlir::Value x);
  mlir::Value round(mlir::Value x);
  mlir::Value atan(mlir::Value x);
  mlir::Value atan2(mlir::Value y, mlir::Value x);
  mlir::Value powOfPositive(mlir::Value size, mlir::Value y);

  mlir::PatternRewriter &b;
  mlir::Location loc;
  mlir::Type like;
};

} // namespace lockstep

#endif // LOCKSTEP_PASSES_CODEGEN_DOUBLES_H

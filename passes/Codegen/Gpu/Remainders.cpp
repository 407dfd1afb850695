//===- Remainders.cpp - Remainders of floats on GPUs ----------------------===//

#include "passes/Codegen/Gpu/Remainders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace lockstep;
using namespace mlir;

namespace {
/// Emits the remainder of two numbers of one type by long division: the
/// dividend's mantissa is reduced modulo the divisor's, bit by bit.
class Division {
public:
  Division(ImplicitLocOpBuilder &builder, FloatType type)
      : builder(builder), type(type),
        bits(builder.getIntegerType(type.getWidth())),
        mantissaBits(type.getFPMantissaWidth() - 1) {}

  Value emit(Value x, Value y) {
    Value xBits = arith::BitcastOp::create(builder, bits, x);
    Value sign = constant(int64_t(1) << (type.getWidth() - 1));
    Value magnitude = constant(~(int64_t(1) << (type.getWidth() - 1)));
    Value a = arith::AndIOp::create(builder, xBits, magnitude);
    Value b = arith::AndIOp::create(
        builder, arith::BitcastOp::create(builder, bits, y), magnitude);
    using arith::CmpIPredicate;
    Value infinity = constant(APFloat::getInf(type.getFloatSemantics())
                                  .bitcastToAPInt()
                                  .getZExtValue());
    Value isInvalid = arith::OrIOp::create(
        builder,
        arith::OrIOp::create(builder, compare(CmpIPredicate::uge, a, infinity),
                             compare(CmpIPredicate::ugt, b, infinity)),
        compare(CmpIPredicate::eq, b, constant(0)));
    Value isSmaller = compare(CmpIPredicate::ult, a, b);
    Value isSimple = arith::OrIOp::create(builder, isInvalid, isSmaller);

    auto [aExponent, aMantissa] = decompose(a);
    auto [bExponent, bMantissa] = decompose(b);
    Value steps = arith::SelectOp::create(
        builder, isSimple, constant(0),
        arith::SubIOp::create(builder, aExponent, bExponent));
    Value zero = arith::ConstantIndexOp::create(builder, 0),
          one = arith::ConstantIndexOp::create(builder, 1);
    auto loop = scf::ForOp::create(
        builder, zero,
        arith::IndexCastOp::create(builder, builder.getIndexType(), steps), one,
        aMantissa);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      Value rest = subtractIfFits(loop.getRegionIterArg(0), bMantissa);
      rest = arith::ShLIOp::create(builder, rest, constant(1));
      scf::YieldOp::create(builder, rest);
    }
    Value rest = subtractIfFits(loop.getResult(0), bMantissa);
    Value result = arith::BitcastOp::create(
        builder, type,
        arith::OrIOp::create(builder, compose(rest, bExponent),
                             arith::AndIOp::create(builder, xBits, sign)));
    Value nan = arith::ConstantOp::create(
        builder,
        builder.getFloatAttr(type, APFloat::getNaN(type.getFloatSemantics())));
    result = arith::SelectOp::create(builder, isSmaller, x, result);
    return arith::SelectOp::create(builder, isInvalid, nan, result);
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder,
                                     builder.getIntegerAttr(bits, value));
  }

  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, predicate, a, b);
  }

  Value subtractIfFits(Value rest, Value divisor) {
    return arith::SelectOp::create(
        builder, compare(arith::CmpIPredicate::uge, rest, divisor),
        arith::SubIOp::create(builder, rest, divisor), rest);
  }

  /// How far the highest bit of a number is from the position of the leading
  /// bit of a mantissa.
  Value shiftToLeadingBit(Value number) {
    return arith::SubIOp::create(
        builder, math::CountLeadingZerosOp::create(builder, number),
        constant(type.getWidth() - 1 - mantissaBits));
  }

  /// The exponent and the mantissa, with its leading bit, of a number without
  /// sign. Subnormal numbers get exponents below 1.
  std::pair<Value, Value> decompose(Value number) {
    Value field =
        arith::ShRUIOp::create(builder, number, constant(mantissaBits));
    Value leading = constant(int64_t(1) << mantissaBits);
    Value normal = arith::OrIOp::create(
        builder,
        arith::AndIOp::create(builder, number,
                              constant((int64_t(1) << mantissaBits) - 1)),
        leading);
    Value isSubnormal = compare(arith::CmpIPredicate::eq, field, constant(0));
    // Not for 0, which would be shifted by more than its width.
    Value shift = arith::SelectOp::create(
        builder, isSubnormal, shiftToLeadingBit(number), constant(0));
    shift =
        arith::MinUIOp::create(builder, shift, constant(type.getWidth() - 1));
    Value mantissa = arith::SelectOp::create(
        builder, isSubnormal, arith::ShLIOp::create(builder, number, shift),
        normal);
    Value exponent = arith::SelectOp::create(
        builder, isSubnormal,
        arith::SubIOp::create(builder, constant(1), shift), field);
    return {exponent, mantissa};
  }

  /// The bits of the number mantissa * 2^exponent, in units of the last place
  /// of numbers with this exponent.
  Value compose(Value mantissa, Value exponent) {
    Value isZero = compare(arith::CmpIPredicate::eq, mantissa, constant(0));
    Value shift = arith::SelectOp::create(builder, isZero, constant(0),
                                          shiftToLeadingBit(mantissa));
    Value shifted = arith::ShLIOp::create(builder, mantissa, shift);
    Value field = arith::SubIOp::create(builder, exponent, shift);
    Value normal = arith::OrIOp::create(
        builder,
        arith::AndIOp::create(builder, shifted,
                              constant((int64_t(1) << mantissaBits) - 1)),
        arith::ShLIOp::create(builder, field, constant(mantissaBits)));
    // Exact, since both operands are multiples of the least number.
    Value right = arith::MaxSIOp::create(
        builder, arith::SubIOp::create(builder, constant(1), field),
        constant(0));
    right =
        arith::MinSIOp::create(builder, right, constant(type.getWidth() - 1));
    Value subnormal = arith::ShRUIOp::create(builder, shifted, right);
    Value isNormal = compare(arith::CmpIPredicate::sge, field, constant(1));
    Value result =
        arith::SelectOp::create(builder, isNormal, normal, subnormal);
    return arith::SelectOp::create(builder, isZero, constant(0), result);
  }

  ImplicitLocOpBuilder &builder;
  FloatType type;
  IntegerType bits;
  int64_t mantissaBits;
};
} // namespace

void lockstep::expandRemainders(func::FuncOp function) {
  SmallVector<arith::RemFOp> ops;
  function.walk([&](arith::RemFOp op) { ops.push_back(op); });
  for (arith::RemFOp op : ops) {
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    auto type = cast<FloatType>(op.getType());
    // Remainders of small floats are small floats.
    bool isSmall = type.getWidth() < 32;
    FloatType wide = isSmall ? builder.getF32Type() : type;
    auto widen = [&](Value value) -> Value {
      return isSmall ? Value(arith::ExtFOp::create(builder, wide, value))
                     : value;
    };
    Value result =
        Division(builder, wide).emit(widen(op.getLhs()), widen(op.getRhs()));
    if (isSmall)
      result = arith::TruncFOp::create(builder, type, result);
    op.replaceAllUsesWith(result);
    op.erase();
  }
}

//===- TotalArithmetic.cpp - Make arithmetic total ------------------------===//

#include "passes/Codegen/TotalArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace lockstep;
using namespace mlir;

namespace {
/// Builds the replacement of one operation, on scalars or vectors.
class Replacement {
public:
  explicit Replacement(Operation *op)
      : op(op), builder(op), loc(op->getLoc()) {}

  void divide(bool isSigned, bool isRemainder) {
    Value dividend = op->getOperand(0), divisor = op->getOperand(1);
    if (isHarmlessDivisor(divisor, isSigned))
      return;
    Type type = divisor.getType();
    unsigned width = getWidth(type);
    Value zero = integer(type, APInt::getZero(width)),
          one = integer(type, APInt(width, 1));
    Value isZero = compare(arith::CmpIPredicate::eq, divisor, zero);
    // The least number divided by -1 has the same result as divided by one: the
    // least number, and the remainder zero.
    Value isReplaced = isZero;
    if (isSigned) {
      Value isLeast = compare(arith::CmpIPredicate::eq, dividend,
                              integer(type, APInt::getSignedMinValue(width)));
      Value isMinusOne = compare(arith::CmpIPredicate::eq, divisor,
                                 integer(type, APInt::getAllOnes(width)));
      isReplaced = arith::OrIOp::create(
          builder, loc, isZero,
          arith::AndIOp::create(builder, loc, isLeast, isMinusOne));
    }
    op->setOperand(1, select(isReplaced, one, divisor));
    builder.setInsertionPointAfter(op);
    replaceUses(
        select(isZero,
               isRemainder ? dividend : integer(type, APInt::getAllOnes(width)),
               op->getResult(0)));
  }

  void shift(bool isArithmetic) {
    Value amount = op->getOperand(1);
    Type type = amount.getType();
    unsigned width = getWidth(type);
    APInt constant;
    if (matchPattern(amount, m_ConstantInt(&constant)) && constant.ult(width))
      return;
    Value isInRange = compare(arith::CmpIPredicate::ult, amount,
                              integer(type, APInt(width, width)));
    if (isArithmetic) {
      op->setOperand(
          1, select(isInRange, amount, integer(type, APInt(width, width - 1))));
      return;
    }
    builder.setInsertionPointAfter(op);
    replaceUses(select(isInRange, op->getResult(0),
                       integer(type, APInt::getZero(width))));
  }

  /// The conversion itself has an undefined result out of range, where another
  /// value must be selected.
  void convert(bool isSigned) {
    Value value = op->getOperand(0);
    Type type = op->getResult(0).getType();
    unsigned width = getWidth(type);
    Value limit =
        number(value.getType(), std::ldexp(1.0, isSigned ? width - 1 : width));
    Value least =
        number(value.getType(), isSigned ? -std::ldexp(1.0, width - 1) : 0);
    builder.setInsertionPointAfter(op);
    Value result = op->getResult(0);
    result = select(compare(arith::CmpFPredicate::OGE, value, limit),
                    integer(type, isSigned ? APInt::getSignedMaxValue(width)
                                           : APInt::getMaxValue(width)),
                    result);
    result = select(compare(arith::CmpFPredicate::OLT, value, least),
                    integer(type, isSigned ? APInt::getSignedMinValue(width)
                                           : APInt::getZero(width)),
                    result);
    result = select(compare(arith::CmpFPredicate::UNO, value, value),
                    integer(type, APInt::getZero(width)), result);
    replaceUses(result);
  }

private:
  static unsigned getWidth(Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  }

  static bool isHarmlessDivisor(Value divisor, bool isSigned) {
    APInt constant;
    return matchPattern(divisor, m_ConstantInt(&constant)) &&
           !constant.isZero() && !(isSigned && constant.isAllOnes());
  }

  Value constant(Type type, TypedAttr element) {
    if (auto vector = dyn_cast<VectorType>(type))
      element = DenseElementsAttr::get(vector, Attribute(element));
    return arith::ConstantOp::create(builder, loc, element);
  }
  Value integer(Type type, const APInt &value) {
    return constant(type,
                    builder.getIntegerAttr(getElementTypeOrSelf(type), value));
  }
  Value number(Type type, double value) {
    return constant(type,
                    builder.getFloatAttr(getElementTypeOrSelf(type), value));
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    Value result = arith::SelectOp::create(builder, loc, condition, a, b);
    created.insert(result.getDefiningOp());
    return result;
  }

  /// Replaces the uses of the result by `value`, which is computed from it.
  void replaceUses(Value value) {
    op->getResult(0).replaceUsesWithIf(value, [&](OpOperand &use) {
      return !created.contains(use.getOwner());
    });
  }

  Operation *op;
  OpBuilder builder;
  Location loc;
  llvm::SmallPtrSet<Operation *, 4> created;
};
} // namespace

void lockstep::defineArithmetic(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    Replacement replacement(op);
    if (isa<arith::DivSIOp, arith::RemSIOp>(op))
      replacement.divide(/*isSigned=*/true, isa<arith::RemSIOp>(op));
    else if (isa<arith::DivUIOp, arith::RemUIOp>(op))
      replacement.divide(/*isSigned=*/false, isa<arith::RemUIOp>(op));
    else if (isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(op))
      replacement.shift(isa<arith::ShRSIOp>(op));
    else if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
      replacement.convert(isa<arith::FPToSIOp>(op));
  }
}

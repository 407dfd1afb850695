//===- Means.cpp - Divides sums by their number of terms ------------------===//

#include "passes/Lower/Means.h"

#include "passes/Lower/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace lockstep;
using namespace mlir;

Type lockstep::getSumType(Type element) {
  return element.isF16() || element.isBF16()
             ? Float32Type::get(element.getContext())
             : element;
}

/// Converts each element of `sum` to a float at least as wide as `element`,
/// applies `divide`, and rounds the quotient to `element`. [2.1-narrow]
static Value divide(OpBuilder &builder, Location loc, Value sum, Type element,
                    function_ref<Value(OpBuilder &, Value)> divide) {
  auto type = cast<RankedTensorType>(sum.getType());
  return createElementwise(
      builder, loc, type.clone(element), sum,
      [&](OpBuilder &b, ValueRange in) -> Value {
        Value value = in[0];
        if (isa<IntegerType>(value.getType()))
          value = arith::SIToFPOp::create(b, loc, element, value);
        if (Type wide = getSumType(value.getType()); wide != value.getType())
          value = arith::ExtFOp::create(b, loc, wide, value);
        Value quotient = divide(b, value);
        return quotient.getType() == element
                   ? quotient
                   : arith::TruncFOp::create(b, loc, element, quotient)
                         .getResult();
      });
}

Value lockstep::divideBy(OpBuilder &builder, Location loc, Value sum,
                         int64_t count, Type element) {
  if (count == 1 && getElementTypeOrSelf(sum.getType()) == element)
    return sum;
  // Multiplying is exact, hence equal to dividing, only for powers of two.
  bool multiply = llvm::isPowerOf2_64(count);
  double factor =
      multiply ? 1.0 / static_cast<double>(count) : static_cast<double>(count);
  return divide(
      builder, loc, sum, element, [&](OpBuilder &b, Value value) -> Value {
        Value constant = arith::ConstantOp::create(
            b, loc, b.getFloatAttr(value.getType(), factor));
        return multiply
                   ? arith::MulFOp::create(b, loc, value, constant).getResult()
                   : arith::DivFOp::create(b, loc, value, constant).getResult();
      });
}

Value lockstep::divideBy(OpBuilder &builder, Location loc, Value sum,
                         Value count, Type element) {
  return divide(builder, loc, sum, element,
                [&](OpBuilder &b, Value value) -> Value {
                  return arith::DivFOp::create(
                      b, loc, value,
                      arith::SIToFPOp::create(b, loc, value.getType(), count));
                });
}

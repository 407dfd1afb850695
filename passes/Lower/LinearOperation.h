//===- LinearOperation.h - Element-wise operations on a tensor --*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_LINEAROPERATION_H
#define LOCKSTEP_PASSES_LOWER_LINEAROPERATION_H

#include "mlir/IR/Builders.h"

#include <optional>

namespace lockstep {

/// An element-wise linear operation on floats: a sum or difference of two
/// tensors, or a negation, a conversion, or a multiplication or division by one
/// number for all elements. It maps zero to zero (except that a number which is
/// not finite, or a divisor of zero, yields NaN).
struct LinearOperation {
  /// The first operand of a sum or difference; otherwise the tensor that is
  /// changed.
  mlir::Value operand;
  /// The second operand of a sum or difference, or null.
  mlir::Value other;
  bool subtracts = false;

  /// Matches `op`, of `arith` on tensors or of `linalg` with one operation in
  /// its body. At least one operand must satisfy `isOperand`, and the factor
  /// must not.
  static std::optional<LinearOperation>
  match(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> isOperand);

  /// The same operation applied to `tensor`, whose shape may differ from that
  /// of the operand. Not for sums and differences.
  mlir::Value applyTo(mlir::OpBuilder &builder, mlir::Value tensor) const;

private:
  /// The operation, and the scalar operation for each element: the same, or the
  /// one in its body.
  mlir::Operation *whole = nullptr, *element = nullptr;
  /// The factor or divisor: a number of the element's type, or a tensor of rank
  /// 0; null if there is none or it is `constantFactor`.
  mlir::Value factor;
  mlir::TypedAttr constantFactor;
  bool factorIsFirst = false;
};

} // namespace lockstep

#endif

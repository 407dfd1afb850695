//===- LinearOperation.h - Element-wise operations on a tensor --*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_LINEAROPERATION_H
#define LOCKSTEP_PASSES_LOWER_LINEAROPERATION_H

#include "mlir/IR/Builders.h"

#include <optional>

namespace lockstep {

/// An element-wise operation on floats that gives zero for zero, unless the
/// number is zero or not finite: a sum or difference of two tensors, or a
/// negation, a conversion, or a multiplication or division by one number for
/// all elements.
struct LinearOperation {
  /// The first operand of a sum or difference; otherwise the tensor that is
  /// changed.
  mlir::Value operand;
  /// The second operand of a sum or difference, or null.
  mlir::Value other;
  bool subtracts = false;

  /// Recognizes `op`, of `arith` on tensors or of `linalg` with one operation
  /// in its body. `isOperand` says which tensors are asked about: one of them
  /// at least is an operand, and no factor is.
  static std::optional<LinearOperation>
  match(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> isOperand);

  /// The same operation with one operand, on `tensor`, whose shape may be
  /// another one.
  mlir::Value applyTo(mlir::OpBuilder &builder, mlir::Value tensor) const;

private:
  /// The operation, and the one that is done to each element: the same, or the
  /// one in its body.
  mlir::Operation *whole = nullptr, *element = nullptr;
  /// A number of the element's type, or a tensor of rank 0 or a splat of it;
  /// null: there is no factor.
  mlir::Value factor;
  mlir::TypedAttr constantFactor;
  bool factorIsFirst = false;
};

} // namespace lockstep

#endif

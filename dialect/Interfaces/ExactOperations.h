//===- ExactOperations.h - What is the same wherever it is computed -------===//
//
// Of these operations it is known that they give the same bits in whichever
// kernel they are: so what several roles compute by them, each for itself, is
// one value.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_EXACTOPERATIONS_H
#define LOCKSTEP_DIALECT_INTERFACES_EXACTOPERATIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lockstep {

/// No tensor, or one of rank 0.
bool isSingleNumber(mlir::Value value);

/// Whether an operation on numbers gives the same bits wherever it is compiled.
bool isExact(mlir::Operation *op);

/// Whether each element of a result is computed by exact operations from
/// numbers and the elements at the same place of tensors of the same shape.
bool isExactByElements(mlir::linalg::GenericOp generic, mlir::OpResult result);

/// Whether an operation moves elements to places that its attributes say.
bool isMove(mlir::Operation *op);

} // namespace lockstep

#endif

//===- VectorBody.h - Bodies of generics on vectors -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_VECTORBODY_H
#define LOCKSTEP_PASSES_CODEGEN_VECTORBODY_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lockstep {

/// True if the body is arithmetic on its arguments, on values from outside and
/// on the numbers of iterations, element by element.
bool isVectorizableBody(mlir::linalg::GenericOp op);

/// Evaluates the body on vectors of `lanes` elements, one for each argument of
/// the block; returns the yielded vectors. Arguments that are null are not used
/// by the body. `indices` are the numbers of the iteration of the first
/// element, zero where they are null; the elements are those of the following
/// iterations along `dim`.
llvm::SmallVector<mlir::Value>
evaluateBody(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
             mlir::ValueRange arguments, int64_t lanes,
             llvm::ArrayRef<mlir::Value> indices, unsigned lanesDim);

/// The scalar or vector `value` as a vector.
mlir::Value broadcast(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, int64_t lanes);

} // namespace lockstep

#endif

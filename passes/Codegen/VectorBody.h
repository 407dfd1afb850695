//===- VectorBody.h - Bodies of generics on vectors -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_VECTORBODY_H
#define LOCKSTEP_PASSES_CODEGEN_VECTORBODY_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lockstep {

/// True if the body is arithmetic on its arguments and on values from outside,
/// element by element, and if `hasIndices`, on the numbers of iterations.
bool isVectorizableBody(mlir::linalg::GenericOp op, bool hasIndices = false);

/// Evaluates the body on vectors of `lanes` elements, one for each argument of
/// the block; returns the yielded vectors. Arguments that are null are not used
/// by the body. `getIndex` returns the vector of an iteration's numbers along a
/// dimension, and is null if the body has none.
llvm::SmallVector<mlir::Value>
evaluateBody(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
             mlir::ValueRange arguments, int64_t lanes,
             llvm::function_ref<mlir::Value(unsigned dim)> getIndex = nullptr);

/// The scalar or vector `value` as a vector.
mlir::Value broadcast(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, int64_t lanes);

} // namespace lockstep

#endif

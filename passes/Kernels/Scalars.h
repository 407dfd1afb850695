//===- Scalars.h - Numbers that are kept in memory --------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_SCALARS_H
#define LOCKSTEP_PASSES_KERNELS_SCALARS_H

#include "mlir/IR/Builders.h"

namespace lockstep {

/// The tensor that takes the place of a scalar; the type itself for a tensor.
/// Memory holds no `index`.
mlir::Type getStoredType(mlir::Type type);

/// `value` as that tensor.
mlir::Value storeScalar(mlir::OpBuilder &builder, mlir::Location location,
                        mlir::Value value);

/// What `stored` holds, as a value of `type`.
mlir::Value loadScalar(mlir::OpBuilder &builder, mlir::Location location,
                       mlir::Value stored, mlir::Type type);

} // namespace lockstep

#endif

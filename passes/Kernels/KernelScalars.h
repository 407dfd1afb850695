//===- KernelScalars.h - Scalars stored in tensors of rank 0 ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_KERNELSCALARS_H
#define LOCKSTEP_PASSES_KERNELS_KERNELSCALARS_H

#include "mlir/IR/Builders.h"

namespace lockstep {

/// The tensor type of rank 0 in which a scalar is stored, an `index` as i64;
/// the type itself for a tensor.
mlir::Type getStoredType(mlir::Type type);

/// `value` as a tensor of its stored type.
mlir::Value storeScalar(mlir::OpBuilder &builder, mlir::Location location,
                        mlir::Value value);

/// The value stored in `stored`, converted to `type`.
mlir::Value loadScalar(mlir::OpBuilder &builder, mlir::Location location,
                       mlir::Value stored, mlir::Type type);

} // namespace lockstep

#endif

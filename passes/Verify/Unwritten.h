//===- Unwritten.h - Reads of what nobody has written -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_VERIFY_UNWRITTEN_H
#define LOCKSTEP_PASSES_VERIFY_UNWRITTEN_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace lockstep {

/// The tensors with elements of `empty` that something reads: itself, a view of it, or it with a part overwritten. Destinations whose
/// elements an operation does not look at are not read. Taken to be written is what loops carry, and where it is not a constant what is
/// inserted where.
llvm::SmallVector<mlir::OpResult> findReadUnwritten(mlir::tensor::EmptyOp empty);

} // namespace lockstep

#endif

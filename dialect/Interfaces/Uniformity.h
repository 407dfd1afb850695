//===- Uniformity.h - Which values are equal on all replicas ----*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_UNIFORMITY_H
#define LOCKSTEP_DIALECT_INTERFACES_UNIFORMITY_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"

namespace lockstep {

/// Whether a result is equal on all replicas.
enum class ResultUniformity {
  /// Equal on all replicas if all operands are.
  FromOperands,
  /// Equal on all replicas whatever the operands are.
  Uniform,
  /// May differ between replicas whatever the operands are.
  Varying,
};

/// Whether the results of `op` are known to depend only on its operands and the
/// values that its regions yield, so that they are equal on all replicas if
/// these are. False for operations of dialects that the compiler does not know,
/// which may read a clock or memory.
bool isFunctionOfOperands(mlir::Operation *op);

} // namespace lockstep

#include "dialect/Interfaces/Uniformity.h.inc"

#endif

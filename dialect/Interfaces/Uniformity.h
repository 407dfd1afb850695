//===- Uniformity.h - Which values are equal on all replicas ----*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_UNIFORMITY_H
#define LOCKSTEP_DIALECT_INTERFACES_UNIFORMITY_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"

namespace lockstep {

/// How a result relates to the replicas of the program.
enum class ResultUniformity {
  /// Equal on all replicas if all operands are.
  FromOperands,
  /// Equal on all replicas whatever the operands are.
  Uniform,
  /// May differ between replicas whatever the operands are.
  Varying,
};

/// Whether the results of `op` are known to depend on nothing but its operands
/// and what its regions give, so that they are equal wherever these are. It is
/// not known of operations of other dialects than those that steps are made of:
/// they may read a clock, or memory.
bool isFunctionOfOperands(mlir::Operation *op);

} // namespace lockstep

#include "dialect/Interfaces/Uniformity.h.inc"

#endif

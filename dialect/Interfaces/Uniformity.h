//===- Uniformity.h - Which values are equal on all replicas ----*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_UNIFORMITY_H
#define LOCKSTEP_DIALECT_INTERFACES_UNIFORMITY_H

#include "mlir/IR/OpDefinition.h"

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

} // namespace lockstep

#include "dialect/Interfaces/Uniformity.h.inc"

#endif

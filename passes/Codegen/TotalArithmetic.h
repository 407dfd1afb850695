//===- TotalArithmetic.h - Make arithmetic total ----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_TOTALARITHMETIC_H
#define LOCKSTEP_PASSES_CODEGEN_TOTALARITHMETIC_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep {

/// Defines the results of operations of `arith` on operands for which MLIR
/// leaves them undefined, or the processor signals an error. The results are
/// those of XLA and of the reference interpreter:
///
/// | operation | operands | result |
/// |---|---|---|
/// | `divsi`, `divui` | divisor 0 | all bits set |
/// | `remsi`, `remui` | divisor 0 | the dividend |
/// | `divsi`, `remsi` | the least number and -1 | the least number, 0 |
/// | `shli`, `shrui`, `shrsi` | shift by at least the width | 0, 0, sign bits |
/// | `fptosi`, `fptoui` | NaN | 0 |
/// | `fptosi`, `fptoui` | out of range | the nearest integer of the type |
///
/// Operations whose constant operand excludes these cases are not changed.
void defineArithmetic(mlir::func::FuncOp function);

} // namespace lockstep

#endif

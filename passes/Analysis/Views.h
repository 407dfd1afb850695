//===- Views.h - Operations that need no command ----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_VIEWS_H
#define LOCKSTEP_PASSES_ANALYSIS_VIEWS_H

#include "mlir/IR/Operation.h"

namespace lockstep {

/// Whether `op` concatenates consecutive results of the wait for one
/// collective, each with one dimension, and of so many bytes that they are
/// stored next to each other without gaps. Then the concatenation is a view of
/// their memory, and needs no kernel.
bool isJoinedGather(mlir::Operation *op);

/// Whether the result of an operation of a step is its operand in another
/// shape, or adjacent operands: in the same memory.
bool isView(mlir::Operation *op);

} // namespace lockstep

#endif // LOCKSTEP_PASSES_ANALYSIS_VIEWS_H

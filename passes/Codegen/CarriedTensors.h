//===- CarriedTensors.h - Keep loop-carried tensors in place ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_CARRIEDTENSORS_H
#define LOCKSTEP_PASSES_CODEGEN_CARRIEDTENSORS_H

#include "mlir/IR/Operation.h"

namespace lockstep {

/// Converts `scf.while` loops to the form that bufferization needs: the
/// condition forwards the arguments of the before-region, in their order.
void alignWhileLoops(mlir::Operation *root);

/// Keeps each loop-carried tensor in one buffer: the yielded value is written
/// to the buffer of the argument. With `viaCopies`, all yielded values are
/// copied before any is written, since a loop may permute its arguments.
void tieCarriedTensors(mlir::Operation *root, bool viaCopies);

} // namespace lockstep

#endif

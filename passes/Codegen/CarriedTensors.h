//===- CarriedTensors.h - Loops keep their tensors in place -----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_CARRIEDTENSORS_H
#define LOCKSTEP_PASSES_CODEGEN_CARRIEDTENSORS_H

#include "mlir/IR/Operation.h"

namespace lockstep {

/// Gives `scf.while` loops the form that bufferization wants: what the
/// condition hands on are the arguments before it, in their order.
void alignWhileLoops(mlir::Operation *root);

/// Tensors that loops carry stay in one buffer: what is yielded is written to
/// the place that the argument came from. With `viaCopies`, it is all copied
/// elsewhere before any of it is written: a loop may yield its arguments in
/// another order.
void tieCarriedTensors(mlir::Operation *root, bool viaCopies);

} // namespace lockstep

#endif

//===- DeadResults.h - Erase dead results of control flow -------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_DEADRESULTS_H
#define LOCKSTEP_PASSES_KERNELS_DEADRESULTS_H

#include "mlir/IR/Operation.h"

namespace lockstep {

/// Removes dead results from the loops and branches of `scf` in `root`, and
/// values that are carried and computed only for these, also if a loop-carried
/// value is computed from itself. Unlike `remove-dead-values`, it does not
/// merge branches with the same condition.
void eraseDeadResults(mlir::Operation *root);

} // namespace lockstep

#endif

//===- DeadResults.h - Loops and branches without what nobody uses --------===//

#ifndef LOCKSTEP_PASSES_KERNELS_DEADRESULTS_H
#define LOCKSTEP_PASSES_KERNELS_DEADRESULTS_H

#include "mlir/IR/Operation.h"

namespace lockstep {

/// Removes from the loops and branches of `scf` in `root` the results that
/// nobody uses, and what is carried and computed for these alone, also where a
/// loop computes it from itself. Does no more than that: `remove-dead-values`
/// also makes one branch of two with one condition.
void eraseDeadResults(mlir::Operation *root);

} // namespace lockstep

#endif

//===- RecomputeValues.h - Values that are not stored -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_RECOMPUTEVALUES_H
#define LOCKSTEP_PASSES_KERNELS_RECOMPUTEVALUES_H

#include "passes/Kernels/Grouping.h"

namespace lockstep {

/// Lets kernels compute again what another one would have to store for them, if
/// that takes a GPU less time than accessing memory: the exponentials of a
/// softmax, for example, which its derivative needs, are computed from the
/// operand of the softmax. Only element-wise operations are repeated, and only
/// if no more memory is in use afterwards. `step` names the program in remarks.
void recomputeValues(mlir::Block &block, Grouping &grouping,
                     llvm::StringRef step);

} // namespace lockstep

#endif

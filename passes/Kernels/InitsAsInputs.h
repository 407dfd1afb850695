//===- InitsAsInputs.h - Convert destinations to inputs ---------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_INITSASINPUTS_H
#define LOCKSTEP_PASSES_KERNELS_INITSASINPUTS_H

#include "mlir/IR/PatternMatch.h"

namespace lockstep {

/// Makes element-wise generics read their destinations as inputs, and write to
/// empty tensors, so that they may be fused or recomputed, and their results
/// may be written elsewhere.
void populateInitsAsInputsPatterns(mlir::RewritePatternSet &patterns);

} // namespace lockstep

#endif

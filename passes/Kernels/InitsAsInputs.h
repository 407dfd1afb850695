//===- InitsAsInputs.h - What results are computed from ---------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_INITSASINPUTS_H
#define LOCKSTEP_PASSES_KERNELS_INITSASINPUTS_H

#include "mlir/IR/PatternMatch.h"

namespace lockstep {

/// Element-wise generics read what their destinations hold as inputs, and write
/// to empty tensors: so they may be fused with others, computed several times,
/// and their results may be written elsewhere.
void populateInitsAsInputsPatterns(mlir::RewritePatternSet &patterns);

} // namespace lockstep

#endif

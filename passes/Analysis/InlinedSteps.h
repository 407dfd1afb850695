//===- InlinedSteps.h - Check that steps are inlined ------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_INLINEDSTEPS_H
#define LOCKSTEP_PASSES_ANALYSIS_INLINEDSTEPS_H

#include "mlir/IR/BuiltinOps.h"

namespace lockstep {

/// Fails with an error at the first `replica.run` or `replica.run_steps` that
/// only names its step: analyses of whole programs need its body in place.
llvm::LogicalResult checkStepsAreInlined(mlir::ModuleOp module);

} // namespace lockstep

#endif

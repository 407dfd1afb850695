//===- InlinedSteps.cpp - Check that steps are inlined --------------------===//

#include "passes/Analysis/InlinedSteps.h"

#include "dialect/Replica/ReplicaDialect.h"

using namespace lockstep;
using namespace mlir;

LogicalResult lockstep::checkStepsAreInlined(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    auto run = dyn_cast<replica::RunOp>(op);
    if (isa<replica::RunStepsOp>(op) || (run && run.getBody().empty()))
      return WalkResult(
          op->emitOpError("expected the body of a step, found only its name; "
                          "run 'inline-runs' first"));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===- SplitUniformResults.cpp - Split uniform from varying results -------===//

#include "passes/Analysis/InlinedSteps.h"
#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Kernels/DeadResults.h"
#include "passes/Kernels/Grouping.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SPLITUNIFORMRESULTSPASS
#include "passes/Passes.h.inc"

namespace {

/// Loops and branches that become one kernel each, though some of their results
/// are uniform and others are not.
SmallVector<Operation *> findMixed(ModuleOp module,
                                   const UniformityAnalysis &uniformity) {
  SmallVector<Operation *> mixed;
  auto isUniform = [&](Value result) { return uniformity.isUniform(result); };
  for (auto step : module.getOps<func::FuncOp>())
    step.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!isControlFlow(op) || isStepControlFlow(op))
        return WalkResult::advance();
      if (llvm::any_of(op->getResults(), isUniform) &&
          !llvm::all_of(op->getResults(), isUniform))
        mixed.push_back(op);
      // Nested loops and branches become part of the same kernel.
      return WalkResult::skip();
    });
  return mixed;
}

/// Whether any step has a loop or a branch.
bool hasControlFlow(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp step) {
    return step
        .walk([](Operation *op) {
          return isControlFlow(op) ? WalkResult::interrupt()
                                   : WalkResult::advance();
        })
        .wasInterrupted();
  });
}

struct SplitUniformResults
    : impl::SplitUniformResultsPassBase<SplitUniformResults> {
  void runOnOperation() override {
    if (failed(checkStepsAreInlined(getOperation())))
      return signalPassFailure();
    if (!hasControlFlow(getOperation()))
      return markAllAnalysesPreserved();
    // A dead result that is varying would make all results of its kernel
    // varying.
    eraseDeadResults(getOperation());
    UniformityAnalysis uniformity(getOperation());
    SmallVector<Operation *> mixed = findMixed(getOperation(), uniformity);
    if (mixed.empty())
      return;
    for (Operation *op : mixed) {
      Operation *ofUniform = OpBuilder(op).clone(*op);
      for (auto [result, copy] :
           llvm::zip_equal(op->getResults(), ofUniform->getResults()))
        if (uniformity.isUniform(result))
          result.replaceAllUsesWith(copy);
    }
    // Each copy keeps only the computations of its own results.
    eraseDeadResults(getOperation());
  }
};

} // namespace
} // namespace lockstep

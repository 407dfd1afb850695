//===- InlineRuns.cpp - Calls of steps become regions ---------------------===//

#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_INLINERUNSPASS
#include "passes/Passes.h.inc"

namespace {

/// True if the host can run `step` itself: all its arguments come from outside.
bool isBound(replica::StepOp step) {
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (!step.getArgAttr(i, "replica.batch") && !step.getArgAttr(i, "replica.scalar") && !step.getArgAttr(i, "replica.variable"))
      return false;
  return true;
}

/// Locations say where a step was called from, so that a step called twice can be told apart.
void setCaller(Operation *op, Location caller) {
  op->walk([&](Operation *inner) { inner->setLoc(CallSiteLoc::get(inner->getLoc(), caller)); });
}

LogicalResult inlineStep(replica::RunOp run, replica::StepOp step) {
  if (!step.getBody().hasOneBlock())
    return run.emitError("expected a step of one block, found branches between several in '") << step.getSymName() << "'";
  Block &from = step.getBody().front();
  IRMapping mapping;
  step.getBody().cloneInto(&run.getBody(), mapping);
  Block &to = run.getBody().front();
  for (Operation &op : to)
    setCaller(&op, run.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(&to);
  Operation *terminator = mapping.lookup(from.getTerminator());
  replica::YieldOp::create(builder, terminator->getLoc(), TypeRange(), terminator->getOperands());
  terminator->erase();
  run.removeCalleeAttr();
  return success();
}

struct InlineRuns : impl::InlineRunsPassBase<InlineRuns> {
  void runOnOperation() override {
    llvm::SetVector<Operation *> called;
    size_t rounds = 0, symbols = llvm::range_size(getOperation().getOps());
    // A step may hold a merge_call that runs another one.
    for (bool changed = true; changed;) {
      SmallVector<replica::RunOp> runs;
      getOperation().walk([&](replica::RunOp run) {
        if (run.getCalleeAttr())
          runs.push_back(run);
      });
      changed = !runs.empty();
      for (replica::RunOp run : runs) {
        auto step = SymbolTable::lookupNearestSymbolFrom<replica::StepOp>(run, run.getCalleeAttr());
        if (step->isAncestor(run)) {
          run.emitError("step '") << step.getSymName() << "' runs itself";
          return signalPassFailure();
        }
        if (failed(inlineStep(run, step)))
          return signalPassFailure();
        called.insert(step);
      }
      // A step that runs itself by way of others would never end.
      if (changed && ++rounds > symbols) {
        called.front()->emitError("the step runs itself by way of other steps");
        return signalPassFailure();
      }
    }
    for (Operation *step : called)
      if (!isBound(cast<replica::StepOp>(step)))
        step->erase();
  }
};

} // namespace
} // namespace lockstep

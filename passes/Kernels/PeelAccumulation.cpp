//===- PeelAccumulation.cpp - Peel the last iteration of accumulation -----===//
//
// A step that accumulates gradients over micro-batches in a loop exchanges all
// of them behind it. With its last iteration outside of the loop, each gradient
// is ready where the last backward pass computes it.
//
//===----------------------------------------------------------------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Analysis/ModuleTopology.h"
#include "passes/Kernels/Structure.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_PEELACCUMULATIONPASS
#include "passes/Passes.h.inc"

namespace {

/// The number of results of `loop` that collectives of its block exchange,
/// directly or after operations without memory effects.
unsigned countExchangedResults(scf::ForOp loop) {
  return llvm::count_if(loop.getResults(), [&](Value result) {
    llvm::SetVector<Operation *> users(result.user_begin(), result.user_end());
    for (unsigned i = 0; i < users.size(); ++i) {
      if (users[i]->getBlock() != loop->getBlock())
        continue;
      if (isa<collective::StartOp>(users[i]))
        return true;
      if (isMemoryEffectFree(users[i]))
        users.insert(users[i]->user_begin(), users[i]->user_end());
    }
    return false;
  });
}

bool hasCollectives(scf::ForOp loop) {
  return loop
      .walk([](CollectiveOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Moves the last iteration of a loop of `trips` iterations behind it. Adds its
/// operations, and those that use its results, to `changed`.
void peelLast(scf::ForOp loop, int64_t trips,
              llvm::SetVector<Operation *> &changed) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Type type = loop.getInductionVar().getType();
  int64_t first = *getConstantIntValue(loop.getLowerBound()),
          step = *getConstantIntValue(loop.getStep());
  Value last = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(type, first + (trips - 1) * step));
  loop.setUpperBound(last);
  builder.setInsertionPointAfter(loop);
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), last);
  mapping.map(loop.getRegionIterArgs(), loop.getResults());
  // All uses that exist now get the results of the last iteration.
  SmallVector<SmallVector<OpOperand *>> uses;
  for (Value result : loop.getResults())
    uses.push_back(llvm::map_to_vector(result.getUses(),
                                       [](OpOperand &use) { return &use; }));
  for (Operation &op : loop.getBody()->without_terminator())
    changed.insert(builder.clone(op, mapping));
  for (auto [ofResult, yielded] :
       llvm::zip_equal(uses, loop.getBody()->getTerminator()->getOperands()))
    for (OpOperand *use : ofResult) {
      use->set(mapping.lookupOrDefault(yielded));
      changed.insert(use->getOwner());
    }
}

struct PeelAccumulation : impl::PeelAccumulationPassBase<PeelAccumulation> {
  void runOnOperation() override {
    FailureOr<runtime::Topology> topology =
        getTopology(getOperation()->getParentOfType<ModuleOp>());
    if (failed(topology))
      return signalPassFailure();
    // Nothing hides behind kernels there.
    if (topology->reducesOnCompute)
      return;
    llvm::SetVector<Operation *> changed;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      std::optional<APInt> trips = loop.getStaticTripCount();
      if (!trips || trips->ult(2) || !getConstantIntValue(loop.getLowerBound()))
        continue;
      // A loop over steps is no accumulation.
      if (hasCollectives(loop))
        continue;
      // One result alone is ready where the iteration ends.
      unsigned exchanged = countExchangedResults(loop);
      if (exchanged < 2)
        continue;
      remark::passed(loop.getLoc(), decision(Stage::Kernels, "Peeled",
                                             getOperation().getSymName()))
          << ("the last of " + std::to_string(trips->getZExtValue()) +
              " iterations is peeled: " + countText(exchanged, "result") +
              " can be exchanged while it computes others");
      peelLast(loop, trips->getSExtValue(), changed);
    }
    if (failed(fuse(changed.getArrayRef())))
      signalPassFailure();
  }

  /// Fuses what follows the loop, such as a division for the mean, with the
  /// iteration that precedes it now, and erases what that computes in vain. No
  /// sums: these keep the order of the other iterations.
  LogicalResult fuse(ArrayRef<Operation *> ops) {
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(
        patterns, [](OpOperand *operand) {
          auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
          auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
          return producer && consumer && producer->hasOneUse() &&
                 lockstep::isElementwise(producer) &&
                 lockstep::isElementwise(consumer);
        });
    return applyOpPatternsGreedily(
        ops, std::move(patterns),
        GreedyRewriteConfig()
            .enableFolding(false)
            .enableConstantCSE(false)
            .setStrictness(GreedyRewriteStrictness::ExistingAndNewOps));
  }
};

} // namespace
} // namespace lockstep

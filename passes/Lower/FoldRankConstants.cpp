//===- FoldRankConstants.cpp - Fold constants equal on all ranks ----------===//

#include "passes/Analysis/InlinedSteps.h"
#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_FOLDRANKCONSTANTSPASS
#include "passes/Passes.h.inc"

namespace {

/// Normalizes a loop with the same trip count on all replicas, but different
/// bounds: it counts from zero, and each replica adds its own lower bound.
void countFromZero(scf::ForOp loop, uint64_t tripCounts) {
  OpBuilder builder(loop);
  Location location = loop.getLoc();
  Type type = loop.getInductionVar().getType();
  auto constant = [&](int64_t value) {
    return arith::ConstantOp::create(builder, location,
                                     builder.getIntegerAttr(type, value));
  };
  Value lower = loop.getLowerBound(), step = loop.getStep();
  loop.setLowerBound(constant(0));
  loop.setUpperBound(constant(tripCounts));
  loop.setStep(constant(1));
  builder.setInsertionPointToStart(loop.getBody());
  auto distance =
      arith::MulIOp::create(builder, location, loop.getInductionVar(), step);
  auto number = arith::AddIOp::create(builder, location, lower, distance);
  loop.getInductionVar().replaceAllUsesExcept(number, distance);
}

struct FoldRankConstants : impl::FoldRankConstantsPassBase<FoldRankConstants> {
  void runOnOperation() override {
    if (failed(checkStepsAreInlined(getOperation())))
      return signalPassFailure();
    const auto &uniformity = getAnalysis<UniformityAnalysis>();
    const RankConstants &constants = uniformity.getConstants();
    // Collect all before any change: the analysis describes the original IR.
    SmallVector<std::pair<scf::ForOp, uint64_t>> loops;
    SmallVector<std::pair<OpResult, Attribute>> values;
    getOperation().walk([&](Operation *op) {
      if (auto loop = dyn_cast<scf::ForOp>(op);
          loop && !uniformity.isUniform(loop.getInductionVar()))
        if (SmallVector<uint64_t> tripCounts = constants.getTripCounts(loop);
            !tripCounts.empty() && llvm::all_equal(tripCounts))
          loops.emplace_back(loop, tripCounts.front());
      if (op->hasTrait<OpTrait::ConstantLike>())
        return;
      for (OpResult result : op->getResults())
        if (ArrayRef<Attribute> known = constants.lookup(result);
            !known.empty() && llvm::all_equal(known) && !result.use_empty())
          values.emplace_back(result, known.front());
    });
    if (loops.empty() && values.empty())
      return markAllAnalysesPreserved();
    for (auto [loop, tripCounts] : loops)
      countFromZero(loop, tripCounts);
    for (auto [value, known] : values) {
      OpBuilder builder(value.getOwner());
      value.replaceAllUsesWith(arith::ConstantOp::create(
          builder, value.getLoc(), cast<TypedAttr>(known)));
    }
  }
};

} // namespace
} // namespace lockstep

//===- UnrollSmallLoops.cpp - Unroll loops of a few iterations ------------===//

#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace lockstep {
#define GEN_PASS_DEF_UNROLLSMALLLOOPSPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

/// Whether an operation prevents unrolling: it is a reduction, has side effects
/// or is a loop itself.
static bool isHeavy(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getNumReductionLoops() > 0;
  if (auto effects = dyn_cast<MemoryEffectOpInterface>(op))
    return !effects.hasNoEffect();
  return isa<LoopLikeOpInterface>(op) ||
         (op->getNumRegions() == 0 && !isMemoryEffectFree(op));
}

/// The number of operations in a loop's body, which would become kernels or
/// parts of them; nullopt if one of them is heavy.
static std::optional<int64_t> countCheapOperations(scf::ForOp loop) {
  int64_t count = 0;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (op.walk([](Operation *nested) {
            return WalkResult(failure(isHeavy(nested)));
          }).wasInterrupted())
      return std::nullopt;
    ++count;
  }
  return count;
}

namespace {

struct UnrollSmallLoopsPass
    : lockstep::impl::UnrollSmallLoopsPassBase<UnrollSmallLoopsPass> {
  using lockstep::impl::UnrollSmallLoopsPassBase<
      UnrollSmallLoopsPass>::UnrollSmallLoopsPassBase;

  bool isSmall(scf::ForOp loop) {
    std::optional<APInt> trips = loop.getStaticTripCount();
    if (!trips || trips->sgt(maxTrips))
      return false;
    std::optional<int64_t> count = countCheapOperations(loop);
    return count && *count * trips->getSExtValue() <= maxOps;
  }

  void runOnOperation() override {
    // Inner loops first: after they are unrolled, the loop around them may be
    // small, too.
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (isSmall(loop) && failed(loopUnrollFull(loop)))
        return signalPassFailure();
  }
};

} // namespace

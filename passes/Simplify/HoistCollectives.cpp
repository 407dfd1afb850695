//===- HoistCollectives.cpp - Move invariant collectives out of loops -----===//
//
// A collective whose operands are the same in each iteration of a loop has the
// same results in each. It is executed once, before the loop, if the loop has
// at least one iteration for certain: no replica then takes part in a
// collective that it would not have taken part in.
//
//===----------------------------------------------------------------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_HOISTCOLLECTIVESPASS
#include "passes/Passes.h.inc"

namespace {

/// Collects the operations in the body of `loop` that have the same results in
/// each iteration: pure ones, and collectives.
llvm::SetVector<Operation *> findInvariant(scf::ForOp loop) {
  llvm::SetVector<Operation *> invariant;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!isPure(&op) && !isa<collective::StartOp, collective::WaitOp>(op))
      continue;
    WalkResult varies = op.walk([&](Operation *inner) {
      return llvm::all_of(inner->getOperands(),
                          [&](Value operand) {
                            Region *region = operand.getParentRegion();
                            return !loop.getRegion().isAncestor(region) ||
                                   op.isProperAncestor(region->getParentOp()) ||
                                   region->getParentOp() == &op ||
                                   invariant.contains(operand.getDefiningOp());
                          })
                 ? WalkResult::advance()
                 : WalkResult::interrupt();
    });
    if (!varies.wasInterrupted())
      invariant.insert(&op);
  }
  return invariant;
}

struct HoistCollectives : impl::HoistCollectivesPassBase<HoistCollectives> {
  void runOnOperation() override {
    // Inner loops first: a collective may leave several.
    getOperation().walk<WalkOrder::PostOrder>([&](scf::ForOp loop) {
      llvm::SetVector<Operation *> invariant = findInvariant(loop);
      // What collectives need, in reverse order.
      llvm::DenseSet<Operation *> needed;
      for (Operation *op : llvm::reverse(invariant)) {
        if (!isa<collective::StartOp, collective::WaitOp>(op) &&
            !needed.contains(op))
          continue;
        needed.insert(op);
        op->walk([&](Operation *inner) {
          for (Value operand : inner->getOperands())
            if (Operation *producer = operand.getDefiningOp())
              needed.insert(producer);
        });
      }
      std::optional<APInt> trips = loop.getStaticTripCount();
      bool isExecuted = trips && !trips->isZero();
      for (Operation *op : invariant) {
        auto start = dyn_cast<collective::StartOp>(op);
        if (start)
          explain(start, loop, isExecuted);
        if (isExecuted && needed.contains(op))
          op->moveBefore(loop);
      }
    });
  }

  void explain(collective::StartOp start, scf::ForOp loop, bool isExecuted) {
    std::string text = collectiveText(start) +
                       " has the same operands in each iteration of the loop" +
                       atLine(loop.getLoc());
    StringRef function = getOperation().getSymName();
    if (isExecuted)
      remark::passed(start.getLoc(),
                     decision(Stage::Simplify, "Hoisted", function))
          << text + ": it is executed once, before the loop";
    else
      remark::missed(start.getLoc(),
                     decision(Stage::Simplify, "NotHoisted", function))
          << text + ", but the loop may have no iterations";
  }
};

} // namespace
} // namespace lockstep

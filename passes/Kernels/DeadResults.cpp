//===- DeadResults.cpp - Loops and branches without what nobody uses ------===//

#include "passes/Kernels/DeadResults.h"

#include "mlir/Analysis/DataFlow/LivenessAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// What goes out of one loop or branch. Each list is about the operands of a terminator, and the arguments and results that they become.
struct Dead {
  Operation *op;
  /// Results.
  llvm::BitVector results;
  /// What a loop carries: its first values, the arguments of its first region, what it yields. Of a `for` the same as its results.
  llvm::BitVector carried;
};

class DeadResults {
public:
  explicit DeadResults(Operation *root) : root(root), liveness(root) {}

  void erase() {
    root->walk([&](Operation *op) {
      if (isa<scf::IfOp, scf::IndexSwitchOp, scf::ExecuteRegionOp, scf::ForOp, scf::WhileOp>(op))
        all.push_back(find(op));
    });
    llvm::erase_if(all, [](const Dead &dead) { return dead.results.none() && dead.carried.none(); });
    // With what is handed on, the uses of what it was computed from go: cycles through loops are open then.
    for (const Dead &dead : all)
      eraseForwarded(dead);
    root->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      if (op != root && isOpTriviallyDead(op)) {
        llvm::erase_if(all, [&](const Dead &dead) { return op->isAncestor(dead.op); });
        op->erase();
      }
    });
    for (const Dead &dead : all)
      eraseReceived(dead);
  }

private:
  bool isLive(Value value) {
    const dataflow::Liveness *known = liveness.getLiveness(value);
    return known && known->isLive;
  }

  Dead find(Operation *op) {
    Dead dead{op, llvm::BitVector(op->getNumResults()), {}};
    for (OpResult result : op->getResults())
      dead.results[result.getResultNumber()] = !isLive(result);
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
        dead.results[i] = dead.results[i] && !isLive(argument);
      dead.carried = dead.results;
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (auto [i, argument] : llvm::enumerate(loop.getAfterArguments()))
        dead.results[i] = dead.results[i] && !isLive(argument);
      for (Value argument : loop.getBeforeArguments())
        dead.carried.push_back(!isLive(argument));
    }
    return dead;
  }

  static void eraseForwarded(const Dead &dead) {
    if (auto loop = dyn_cast<scf::WhileOp>(dead.op)) {
      llvm::BitVector condition(1);
      for (unsigned i = 0; i < dead.results.size(); ++i)
        condition.push_back(dead.results[i]);
      loop.getConditionOp()->eraseOperands(condition);
      loop.getYieldOp()->eraseOperands(dead.carried);
      return;
    }
    for (Region &region : dead.op->getRegions())
      for (Block &block : region)
        if (block.hasNoSuccessors())
          block.getTerminator()->eraseOperands(dead.results);
  }

  static void eraseReceived(const Dead &dead) {
    Operation *op = dead.op;
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      loop.getBeforeBody()->eraseArguments(dead.carried);
      loop.getAfterBody()->eraseArguments(dead.results);
      op->eraseOperands(dead.carried);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      llvm::BitVector counter(1), controls(loop.getNumControlOperands());
      for (unsigned i = 0; i < dead.carried.size(); ++i) {
        counter.push_back(dead.carried[i]);
        controls.push_back(dead.carried[i]);
      }
      loop.getBody()->eraseArguments(counter);
      op->eraseOperands(controls);
    }
    if (dead.results.any())
      eraseResults(op, dead.results);
  }

  static void eraseResults(Operation *op, const llvm::BitVector &erased) {
    SmallVector<Type> types;
    SmallVector<Value> kept;
    for (OpResult result : op->getResults())
      if (!erased[result.getResultNumber()]) {
        types.push_back(result.getType());
        kept.push_back(result);
      }
    OperationState state(op->getLoc(), op->getName(), op->getOperands(), types, op->getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    for (Region &region : op->getRegions())
      state.addRegion()->takeBody(region);
    Operation *smaller = OpBuilder(op).create(state);
    for (auto [from, to] : llvm::zip_equal(kept, smaller->getResults()))
      from.replaceAllUsesWith(to);
    op->erase();
  }

  Operation *root;
  dataflow::RunLivenessAnalysis liveness;
  std::vector<Dead> all;
};

} // namespace

void lockstep::eraseDeadResults(Operation *root) { DeadResults(root).erase(); }

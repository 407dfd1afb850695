//===- DeadResults.cpp - Erase dead results of loops and branches ---------===//

#include "passes/Kernels/DeadResults.h"

#include "passes/Kernels/Grouping.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// The set of live values. MLIR's liveness analysis treats regions under a
/// constant condition as unreachable and does not describe the values in them;
/// here those must stay consistent, because the regions are not erased.
class LiveValues {
public:
  explicit LiveValues(Operation *root) : root(root) {
    root->walk([&](Operation *op) {
      if (isControlFlow(op)) {
        RegionBranchInverseSuccessorMapping own;
        cast<RegionBranchOpInterface>(op).getSuccessorInputOperandMapping(own);
        forwarded.insert(own.begin(), own.end());
      }
      bool returns = op->hasTrait<OpTrait::ReturnLike>() &&
                     isa_and_nonnull<FunctionOpInterface>(op->getParentOp());
      bool acts = !op->hasTrait<OpTrait::IsTerminator>() &&
                  !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
                  !isMemoryEffectFree(op);
      if (op != root && !isa<FunctionOpInterface>(op) && (returns || acts))
        markOperandsLive(op);
    });
    while (!pending.empty())
      visit(pending.pop_back_val());
  }

  bool contains(Value value) const { return live.contains(value); }

private:
  void markLive(Value value) {
    if (!live.insert(value).second)
      return;
    pending.push_back(value);
    if (Operation *parent = value.getParentRegion()->getParentOp();
        parent != root && root->isProperAncestor(parent))
      markControlLive(parent);
  }

  /// Marks all operands of `op`, and of operations in it, as live: unlike for
  /// loops and branches, its results are not tracked separately.
  void markOperandsLive(Operation *op) {
    if (!visited.insert(op).second)
      return;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        markLive(operand);
    });
    if (Operation *parent = op->getParentOp();
        parent && root->isProperAncestor(parent))
      markControlLive(parent);
  }

  /// Marks the values that decide whether and how often the regions of `op` are
  /// executed.
  void markControlLive(Operation *op) {
    if (!isControlFlow(op)) {
      if (!isa<FunctionOpInterface>(op))
        markOperandsLive(op);
      return;
    }
    if (!visited.insert(op).second)
      return;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (Value bound :
           {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        markLive(bound);
    else if (auto loop = dyn_cast<scf::WhileOp>(op))
      markLive(loop.getConditionOp().getCondition());
    else
      markLive(op->getOperand(0));
    if (Operation *parent = op->getParentOp();
        parent && root->isProperAncestor(parent))
      markControlLive(parent);
  }

  void visit(Value value) {
    auto result = dyn_cast<OpResult>(value);
    Operation *op = result
                        ? result.getOwner()
                        : cast<BlockArgument>(value).getOwner()->getParentOp();
    if (!isControlFlow(op)) {
      if (result || !isa<FunctionOpInterface>(op))
        markOperandsLive(op);
      return;
    }
    markControlLive(op);
    for (OpOperand *operand : forwarded.lookup(value))
      markLive(operand->get());
  }

  Operation *root;
  /// The operands that loops and branches forward to their results and
  /// arguments.
  RegionBranchInverseSuccessorMapping forwarded;
  llvm::DenseSet<Value> live;
  llvm::DenseSet<Operation *> visited;
  SmallVector<Value> pending;
};

/// The dead results of one loop or branch. A set bit also stands for the
/// terminator operands that are forwarded to the result or argument.
struct Dead {
  Operation *op;
  /// Results.
  llvm::BitVector results;
  /// Loop-carried values: initial values, arguments of the first region,
  /// yielded values. For a `for` the same as its results.
  llvm::BitVector carried;
};

class DeadResults {
public:
  explicit DeadResults(Operation *root) : root(root), live(root) {}

  void erase() {
    root->walk([&](Operation *op) {
      if (isControlFlow(op))
        all.push_back(find(op));
    });
    llvm::erase_if(all, [](const Dead &dead) {
      return dead.results.none() && dead.carried.none();
    });
    // First the forwarded operands are erased, which breaks def-use cycles
    // through loops, so that the computations of dead values become dead.
    for (const Dead &dead : all)
      eraseForwarded(dead);
    root->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      if (op != root && isOpTriviallyDead(op)) {
        llvm::erase_if(
            all, [&](const Dead &dead) { return op->isAncestor(dead.op); });
        op->erase();
      }
    });
    for (const Dead &dead : all)
      eraseReceived(dead);
  }

private:
  Dead find(Operation *op) {
    Dead dead{op, llvm::BitVector(op->getNumResults()), {}};
    for (OpResult result : op->getResults())
      dead.results[result.getResultNumber()] = !live.contains(result);
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
        dead.results[i] = dead.results[i] && !live.contains(argument);
      dead.carried = dead.results;
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (auto [i, argument] : llvm::enumerate(loop.getAfterArguments()))
        dead.results[i] = dead.results[i] && !live.contains(argument);
      for (Value argument : loop.getBeforeArguments())
        dead.carried.push_back(!live.contains(argument));
    }
    return dead;
  }

  static llvm::BitVector behind(unsigned kept, const llvm::BitVector &erased) {
    llvm::BitVector all(kept);
    for (unsigned i = 0; i < erased.size(); ++i)
      all.push_back(erased[i]);
    return all;
  }

  static void eraseForwarded(const Dead &dead) {
    if (auto loop = dyn_cast<scf::WhileOp>(dead.op)) {
      loop.getConditionOp()->eraseOperands(behind(1, dead.results));
      loop.getYieldOp()->eraseOperands(dead.carried);
      dead.op->eraseOperands(dead.carried);
      return;
    }
    if (auto loop = dyn_cast<scf::ForOp>(dead.op))
      dead.op->eraseOperands(
          behind(loop.getNumControlOperands(), dead.carried));
    for (Region &region : dead.op->getRegions())
      for (Block &block : region)
        block.getTerminator()->eraseOperands(dead.results);
  }

  static void eraseReceived(const Dead &dead) {
    if (auto loop = dyn_cast<scf::WhileOp>(dead.op)) {
      loop.getBeforeBody()->eraseArguments(dead.carried);
      loop.getAfterBody()->eraseArguments(dead.results);
    } else if (auto loop = dyn_cast<scf::ForOp>(dead.op)) {
      loop.getBody()->eraseArguments(behind(1, dead.carried));
    }
    if (dead.results.any())
      eraseResults(dead.op, dead.results);
  }

  static void eraseResults(Operation *op, const llvm::BitVector &erased) {
    SmallVector<Type> types;
    SmallVector<Value> kept;
    for (OpResult result : op->getResults())
      if (!erased[result.getResultNumber()]) {
        types.push_back(result.getType());
        kept.push_back(result);
      }
    OperationState state(op->getLoc(), op->getName(), op->getOperands(), types,
                         op->getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    for (Region &region : op->getRegions())
      state.addRegion()->takeBody(region);
    Operation *smaller = OpBuilder(op).create(state);
    for (auto [from, to] : llvm::zip_equal(kept, smaller->getResults()))
      from.replaceAllUsesWith(to);
    op->erase();
  }

  Operation *root;
  LiveValues live;
  std::vector<Dead> all;
};

} // namespace

void lockstep::eraseDeadResults(Operation *root) { DeadResults(root).erase(); }

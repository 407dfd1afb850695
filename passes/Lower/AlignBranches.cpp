//===- AlignBranches.cpp - Collectives of both sides become one -----------===//
//
// A branch that replicas may take differently has been proven to issue the same collectives on both sides. To be one
// rendezvous they have to be one command, so the branch is cut in two at each of them:
//
//   if c { a; x; b } else { d; y; e }   ->   v = if c { a; yield } else { d; yield };  z = x or y of v;  if c { b } else { e }
//
// What the second half needs of the first is carried over by the results of the first; the side that has no such value gives
// memory that nobody reads.
//
//===----------------------------------------------------------------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Passes.h"
#include "passes/Verify/Uniformity.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_ALIGNBRANCHESPASS
#include "passes/Passes.h.inc"

namespace {

/// The first collective that `region` issues itself; null if there is none.
CollectiveOpInterface findFirst(Region &region) {
  for (Operation &op : region.getOps())
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      return collective;
  return nullptr;
}

Operation *findNested(Operation *op) {
  Operation *found = nullptr;
  for (Region &region : op->getRegions())
    region.walk([&](CollectiveOpInterface collective) { found = found ? found : collective.getOperation(); });
  return found;
}

/// Whether one operation can stand for both. Operands may differ.
bool match(Operation *lhs, Operation *rhs) {
  return lhs->getName() == rhs->getName() && lhs->getAttrDictionary() == rhs->getAttrDictionary() &&
         lhs->getOperandTypes() == rhs->getOperandTypes() && lhs->getResultTypes() == rhs->getResultTypes();
}

/// The wait of a start; null for other collectives.
Operation *getWait(Operation *collective) { return isa<collective::StartOp>(collective) ? *collective->user_begin() : nullptr; }

/// Aligns the sides of one branch.
class BranchAligner {
public:
  explicit BranchAligner(scf::IfOp branch) : branch(branch), builder(branch) {}

  /// Leaves no collective in the branch. Error: one that cannot leave it.
  LogicalResult run() {
    for (Region &region : branch->getRegions())
      for (Operation &op : region.getOps())
        if (Operation *nested = findNested(&op))
          return nested->emitError("collectives in loops under a condition that may differ between replicas are not supported");
    shareFree();
    for (;;) {
      CollectiveOpInterface left = findFirst(branch.getThenRegion()), right = findFirst(branch.getElseRegion());
      if (!left && !right)
        return success();
      if (!left || !right || !match(left, right))
        return (left ? left : right)->emitError("branches with different collectives under a condition that may differ between "
                                                "replicas are not supported");
      cut(left, right);
      hoistCommon();
    }
  }

private:
  static Block &side(scf::IfOp op, bool isThen) { return (isThen ? op.getThenRegion() : op.getElseRegion()).front(); }

  /// Takes constants and unwritten memory out, one for both sides: what is computed from them alike is then alike.
  void shareFree() {
    SmallVector<Operation *> shared;
    for (Region &region : branch->getRegions())
      for (Operation &op : llvm::make_early_inc_range(region.getOps())) {
        if (op.getNumOperands() > 0 || !(op.hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op)))
          continue;
        auto same = llvm::find_if(shared, [&](Operation *other) {
          return OperationEquivalence::isEquivalentTo(&op, other, OperationEquivalence::IgnoreLocations);
        });
        if (same != shared.end()) {
          op.replaceAllUsesWith((*same)->getResults());
          op.erase();
          continue;
        }
        op.moveBefore(branch);
        shared.push_back(&op);
      }
  }

  /// Moves what comes before `left` and `right` into a branch of its own, and the two out as one.
  void cut(Operation *left, Operation *right) {
    SmallVector<Type> types;
    SmallVector<Value> yields[2], carried[2];
    SmallVector<unsigned> positions[2];
    for (bool isThen : {true, false})
      carried[isThen] = findCarried(isThen ? left : right);
    // Operands that are the same value already need no branch.
    SmallVector<std::optional<unsigned>> operandResults;
    for (auto [x, y] : llvm::zip_equal(left->getOperands(), right->getOperands())) {
      operandResults.push_back(x == y ? std::nullopt : std::optional<unsigned>(types.size()));
      if (x == y)
        continue;
      types.push_back(x.getType());
      yields[true].push_back(x);
      yields[false].push_back(y);
    }
    for (bool isThen : {true, false})
      for (Value value : carried[isThen]) {
        positions[isThen].push_back(types.size());
        types.push_back(value.getType());
        yields[isThen].push_back(value);
        yields[!isThen].push_back(Value());
      }

    builder.setInsertionPoint(branch);
    auto first = scf::IfOp::create(builder, branch.getLoc(), types, branch.getCondition(), /*withElseRegion=*/true);
    for (bool isThen : {true, false}) {
      Block &from = side(branch, isThen), &to = side(first, isThen);
      if (!to.empty())
        to.back().erase();
      to.getOperations().splice(to.end(), from.getOperations(), from.begin(), Block::iterator(isThen ? left : right));
      builder.setInsertionPointToEnd(&to);
      SmallVector<Value> operands;
      for (auto [value, type] : llvm::zip_equal(yields[isThen], types)) {
        auto tensor = cast<RankedTensorType>(type);
        operands.push_back(value ? value : tensor::EmptyOp::create(builder, branch.getLoc(), tensor.getShape(), tensor.getElementType()));
      }
      scf::YieldOp::create(builder, branch.getLoc(), operands);
      for (auto [value, position] : llvm::zip_equal(carried[isThen], positions[isThen]))
        value.replaceUsesWithIf(first.getResult(position), [&](OpOperand &use) { return branch->isAncestor(use.getOwner()); });
    }
    for (auto [i, result] : llvm::enumerate(operandResults))
      if (result)
        for (Operation *op : {left, right})
          op->setOperand(i, first.getResult(*result));
    Operation *leftWait = getWait(left), *rightWait = getWait(right);
    merge(left, right);
    if (!leftWait)
      return;
    // A wait names the operands of its start again, and depends on nothing else.
    cast<collective::WaitOp>(leftWait).getInputsMutable().assign(left->getOperands());
    merge(leftWait, rightWait);
  }

  /// Puts `left` before the branch, where it stands for `right` too.
  void merge(Operation *left, Operation *right) {
    left->moveBefore(branch);
    left->setLoc(builder.getFusedLoc({left->getLoc(), right->getLoc()}));
    right->replaceAllUsesWith(left->getResults());
    right->erase();
  }

  /// What the side of `collective` computes before it and uses behind it. Scalars are computed again behind it, so that only
  /// tensors are carried.
  SmallVector<Value> findCarried(Operation *collective) {
    Block *block = collective->getBlock();
    auto isBehind = [&](OpOperand &use) {
      Operation *user = block->findAncestorOpInBlock(*use.getOwner());
      return user && user != getWait(collective) && collective->isBeforeInBlock(user);
    };
    SmallVector<Operation *> before;
    for (Operation &op : llvm::make_range(block->begin(), Block::iterator(collective)))
      before.push_back(&op);
    for (Operation *op : llvm::reverse(before)) {
      bool isScalar = llvm::none_of(op->getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); });
      if (!isScalar || !isMemoryEffectFree(op) ||
          llvm::none_of(op->getResults(), [&](Value result) { return llvm::any_of(result.getUses(), isBehind); }))
        continue;
      builder.setInsertionPointAfter(collective);
      Operation *again = builder.clone(*op);
      for (auto [result, repeated] : llvm::zip_equal(op->getResults(), again->getResults()))
        result.replaceUsesWithIf(repeated, isBehind);
    }
    SmallVector<Value> carried;
    for (Operation *op : before)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUses(), isBehind))
          carried.push_back(result);
    return carried;
  }

  /// Takes computations out of the branch that both sides do on the same values, such as the division of a mean: their
  /// results are equal on all replicas.
  void hoistCommon() {
    Block &left = side(branch, true), &right = side(branch, false);
    for (Operation &op : llvm::make_early_inc_range(left.without_terminator())) {
      llvm::SetVector<Value> used;
      getUsedValuesDefinedAbove(op.getRegions(), used);
      used.insert(op.operand_begin(), op.operand_end());
      bool isInside = llvm::any_of(used, [&](Value value) { return branch->isAncestor(value.getParentBlock()->getParentOp()); });
      if (isInside || !isMemoryEffectFree(&op))
        continue;
      for (Operation &other : right.without_terminator())
        if (OperationEquivalence::isEquivalentTo(&op, &other, OperationEquivalence::IgnoreLocations)) {
          merge(&op, &other);
          break;
        }
    }
  }

  scf::IfOp branch;
  OpBuilder builder;
};

struct AlignBranches : impl::AlignBranchesPassBase<AlignBranches> {
  void runOnOperation() override {
    UniformityAnalysis uniformity(getOperation());
    // Innermost first: what leaves an inner branch stands in the outer one.
    SmallVector<scf::IfOp> branches;
    getOperation().walk([&](scf::IfOp branch) {
      if (uniformity.getVaryingCondition(branch) || uniformity.getDivergenceAround(branch))
        branches.push_back(branch);
    });
    for (scf::IfOp branch : branches)
      if (findNested(branch) && failed(BranchAligner(branch).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace lockstep

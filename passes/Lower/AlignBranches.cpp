//===- AlignBranches.cpp - Merge collectives of both sides ----------------===//
//
// A divergent branch has been proven to issue the same collectives on both
// sides. A rendezvous needs a single command, so the branch is split in two at
// each collective, which is hoisted between the halves:
//
//   if c { a; x; b } else { d; y; e }
//
//   ->  v = if c { a; yield } else { d; yield }
//       z = x or y of v
//       if c { b } else { e }
//
// A collective of a group whose members all take one side needs no counterpart:
// it is hoisted alone, and ranks that are no members skip it.
//
// Values of the first half that are live in the second half are results of the
// first; the side without such a value yields a placeholder that is never read.
// If both sides have loops with the same bounds, or branches on the same
// condition, that contain collectives, these are interchanged with the branch,
// which is then aligned inside of them:
//
//   if c { for i { x } } else { for i { y } }
//
//   ->  for i { if c { x } else { y } }
//
//===----------------------------------------------------------------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Lower/InterchangeBranch.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_ALIGNBRANCHESPASS
#include "passes/Passes.h.inc"

namespace {

bool holdsCollectives(Operation *op) {
  WalkResult result =
      op->walk([](CollectiveOpInterface) { return WalkResult::interrupt(); });
  return result.wasInterrupted();
}

/// The first operation of `region` that is or contains a collective; null if
/// there is none.
Operation *findFirst(Region &region) {
  for (Operation &op : region.getOps())
    if (holdsCollectives(&op))
      return &op;
  return nullptr;
}

/// The first collective in `op`, which may be `op` itself.
Operation *findCollective(Operation *op) {
  Operation *found = nullptr;
  op->walk<WalkOrder::PreOrder>([&](CollectiveOpInterface collective) {
    found = collective;
    return WalkResult::interrupt();
  });
  return found;
}

/// Whether one operation can replace both. Operands may differ.
bool match(Operation *lhs, Operation *rhs) {
  return lhs->getName() == rhs->getName() &&
         lhs->getAttrDictionary() == rhs->getAttrDictionary() &&
         lhs->getOperandTypes() == rhs->getOperandTypes() &&
         lhs->getResultTypes() == rhs->getResultTypes();
}

/// The wait of a start; null for other collectives.
Operation *getWait(Operation *collective) {
  return isa<collective::StartOp>(collective) ? *collective->user_begin()
                                              : nullptr;
}

/// Aligns the sides of one branch.
class BranchAligner {
public:
  /// `divergence` is that of the branch, or of the one from which `branch` was
  /// made and whose condition it has.
  BranchAligner(scf::IfOp branch, const UniformityAnalysis &uniformity,
                const Divergence &divergence)
      : branch(branch), builder(branch), uniformity(uniformity),
        divergence(divergence) {}

  /// Hoists all collectives out of the branch. Fails if one cannot be hoisted.
  LogicalResult run() {
    if (branch.getElseRegion().empty()) {
      OpBuilder::InsertionGuard guard(builder);
      builder.createBlock(&branch.getElseRegion());
      scf::YieldOp::create(builder, branch.getLoc());
    }
    for (;;) {
      // Repeated, because aligning a nested branch hoists shared operations
      // into this one.
      shareFree();
      hoistCommon();
      Operation *left = findFirst(branch.getThenRegion()),
                *right = findFirst(branch.getElseRegion());
      if (!left && !right)
        return success();
      if (failed(alignFirst(left, right)))
        return failure();
    }
  }

private:
  static Block &side(scf::IfOp op, bool isThen) {
    return (isThen ? op.getThenRegion() : op.getElseRegion()).front();
  }

  /// Hoists `left` and `right`, the first collectives (or operations with
  /// collectives) of the two sides. One of them may be null.
  LogicalResult alignFirst(Operation *left, Operation *right) {
    if (left && right && isa<CollectiveOpInterface>(left) &&
        isa<CollectiveOpInterface>(right) && match(left, right)) {
      cut(left, right);
      return success();
    }
    if (left && right && haveSameControl(left, right)) {
      cutBefore(left, right);
      for (scf::IfOp inner : interchangeBranch(branch, left, right))
        if (failed(BranchAligner(inner, uniformity, divergence).run()))
          return failure();
      return success();
    }
    // A nested branch whose own sides issue equal sequences is aligned first.
    for (Operation *op : {left, right})
      if (auto inner = dyn_cast_or_null<scf::IfOp>(op))
        return BranchAligner(inner, uniformity, uniformity.getDivergence(inner))
            .run();
    for (Operation *op : {left, right})
      if (op && isa<CollectiveOpInterface>(op) && canHoistAlone(op)) {
        hoistAlone(op);
        return success();
      }
    Operation *unmatched = findCollective(left ? left : right);
    if (left && right && isa<LoopLikeOpInterface>(left))
      return unmatched->emitError(
          "expected the same loop, of the same bounds, on both sides of a "
          "branch that replicas may take differently");
    return unmatched->emitError(
        "expected the same collectives on both sides of a branch that replicas "
        "may take differently");
  }

  /// Whether all members of a collective take the same side of the branch. If
  /// that is the other side, they exchange placeholders that are never read.
  /// But the row counts of a scatter must not be placeholders, so its members
  /// must be known to take the side of the collective.
  bool canHoistAlone(Operation *op) {
    std::optional<llvm::BitVector> members = uniformity.getMembers(op);
    if (!members || members->none() ||
        uniformity.getPartitions().findSeparated(divergence.partition,
                                                 *members))
      return false;
    auto start = dyn_cast<collective::StartOp>(op);
    if (!start || start.getKindProperties().shape != runtime::ShapeRule::rows)
      return true;
    bool isThen = op->getParentRegion() == &branch.getThenRegion();
    ArrayRef<Attribute> known =
        uniformity.getConstants().lookup(divergence.condition);
    return !known.empty() && llvm::all_of(members->set_bits(), [&](unsigned r) {
      auto taken = dyn_cast_or_null<IntegerAttr>(known[r]);
      return taken && !taken.getValue().isZero() == isThen;
    });
  }

  /// A result of a branch: the value of each side, one of which may be null.
  struct BranchResult {
    Value left, right;
    Value any() const { return left ? left : right; }
  };

  /// Moves the operations before `left` and `right` into a new branch before
  /// this one. A result with a value on only one side replaces that value in
  /// the rest of this branch.
  scf::IfOp splitBefore(Operation *left, Operation *right,
                        ArrayRef<BranchResult> results) {
    builder.setInsertionPoint(branch);
    Location loc = branch.getLoc();
    SmallVector<Type> types = llvm::map_to_vector(
        results, [](const BranchResult &one) { return one.any().getType(); });
    auto first = scf::IfOp::create(builder, loc, types, branch.getCondition(),
                                   /*withElseRegion=*/true);
    for (bool isThen : {true, false}) {
      Block &from = side(branch, isThen), &to = side(first, isThen);
      to.clear();
      to.getOperations().splice(to.end(), from.getOperations(), from.begin(),
                                Block::iterator(isThen ? left : right));
      builder.setInsertionPointToEnd(&to);
      SmallVector<Value> yielded;
      for (const BranchResult &one : results) {
        Value own = isThen ? one.left : one.right;
        yielded.push_back(
            own ? own : createPlaceholder(builder, loc, one.any().getType()));
      }
      scf::YieldOp::create(builder, loc, yielded);
    }
    for (auto [one, result] : llvm::zip_equal(results, first.getResults()))
      if (!one.left || !one.right)
        one.any().replaceUsesWithIf(result, [&](OpOperand &use) {
          return branch->isAncestor(use.getOwner());
        });
    return first;
  }

  /// Moves the operations before two loops or branches into a new branch.
  void cutBefore(Operation *left, Operation *right) {
    SmallVector<BranchResult> results;
    for (bool isThen : {true, false}) {
      Operation *op = isThen ? left : right;
      auto isUsed = [&](Value result) {
        return llvm::any_of(result.getUsers(), [&](Operation *user) {
          Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
          return ancestor == op || op->isBeforeInBlock(ancestor);
        });
      };
      for (Operation &before :
           llvm::make_range(op->getBlock()->begin(), Block::iterator(op)))
        for (Value result :
             llvm::make_filter_range(before.getResults(), isUsed))
          results.push_back(isThen ? BranchResult{result, {}}
                                   : BranchResult{{}, result});
    }
    scf::IfOp first = splitBefore(left, right, results);
    if (results.empty() && isMemoryEffectFree(first))
      first.erase();
  }

  /// Hoists constants and unwritten tensors, one for both sides, so that equal
  /// computations from them have equal operands.
  void shareFree() {
    for (Region &region : branch->getRegions())
      for (Operation &op : llvm::make_early_inc_range(region.getOps())) {
        if (op.getNumOperands() > 0 ||
            !(op.hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op)))
          continue;
        auto same = llvm::find_if(shared, [&](Operation *other) {
          return OperationEquivalence::isEquivalentTo(
              &op, other, OperationEquivalence::IgnoreLocations);
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

  /// Moves the operations before two matching collectives into a new branch,
  /// and hoists the two as one.
  void cut(Operation *left, Operation *right) {
    SmallVector<Value> ofLeft = findCarried(left), ofRight = findCarried(right);
    // Operands that are the same value on both sides need no result.
    SmallVector<unsigned> operands;
    SmallVector<BranchResult> results;
    for (auto [i, pair] : llvm::enumerate(
             llvm::zip_equal(left->getOperands(), right->getOperands())))
      if (auto [x, y] = pair; x != y) {
        operands.push_back(i);
        results.push_back({x, y});
      }
    for (Value value : ofLeft)
      results.push_back({value, {}});
    for (Value value : ofRight)
      results.push_back({{}, value});
    scf::IfOp first = splitBefore(left, right, results);
    for (auto [i, result] : llvm::zip(operands, first.getResults()))
      for (Operation *op : {left, right})
        op->setOperand(i, result);
    Operation *leftWait = getWait(left), *rightWait = getWait(right);
    merge(left, right);
    if (!leftWait)
      return;
    // The operands of a wait are its start and the inputs of the start.
    cast<collective::WaitOp>(leftWait).getInputsMutable().assign(
        cast<collective::StartOp>(left).getInputs());
    merge(leftWait, rightWait);
  }

  /// Moves the operations before a collective of one side into a new branch,
  /// and hoists the collective.
  void hoistAlone(Operation *op) {
    bool isThen = op->getParentRegion() == &branch.getThenRegion();
    Operation *wait = getWait(op), *other = &side(branch, !isThen).front();
    llvm::SetVector<Value> carried;
    carried.insert_range(findCarried(op));
    for (Value operand : op->getOperands())
      if (branch->isAncestor(operand.getParentBlock()->getParentOp()))
        carried.insert(operand);
    SmallVector<BranchResult> results =
        llvm::map_to_vector(carried, [&](Value value) {
          return isThen ? BranchResult{value, {}} : BranchResult{{}, value};
        });
    splitBefore(isThen ? op : other, isThen ? other : op, results);
    op->moveBefore(branch);
    if (wait)
      wait->moveBefore(branch);
  }

  /// Moves `left` before the branch and replaces `right` by it.
  void merge(Operation *left, Operation *right) {
    left->moveBefore(branch);
    left->setLoc(builder.getFusedLoc({left->getLoc(), right->getLoc()}));
    right->replaceAllUsesWith(left->getResults());
    right->erase();
  }

  /// Values that the side of `collective` computes before it and uses behind
  /// it. Scalars are recomputed behind it, so that only tensors are carried.
  SmallVector<Value> findCarried(Operation *collective) {
    Block *block = collective->getBlock();
    auto isBehind = [&](OpOperand &use) {
      Operation *user = block->findAncestorOpInBlock(*use.getOwner());
      return user && user != getWait(collective) &&
             collective->isBeforeInBlock(user);
    };
    SmallVector<Operation *> before;
    for (Operation &op :
         llvm::make_range(block->begin(), Block::iterator(collective)))
      before.push_back(&op);
    for (Operation *op : llvm::reverse(before)) {
      bool isScalar = llvm::none_of(op->getResultTypes(), [](Type type) {
        return isa<RankedTensorType>(type);
      });
      if (!isScalar || !isMemoryEffectFree(op) ||
          llvm::none_of(op->getResults(), [&](Value result) {
            return llvm::any_of(result.getUses(), isBehind);
          }))
        continue;
      builder.setInsertionPointAfter(collective);
      Operation *again = builder.clone(*op);
      for (auto [result, repeated] :
           llvm::zip_equal(op->getResults(), again->getResults()))
        result.replaceUsesWithIf(repeated, isBehind);
    }
    SmallVector<Value> carried;
    for (Operation *op : before)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUses(), isBehind))
          carried.push_back(result);
    return carried;
  }

  /// Hoists computations that both sides do on the same values from outside of
  /// the branch, such as the division of a mean.
  void hoistCommon() {
    Block &left = side(branch, true), &right = side(branch, false);
    for (Operation &op :
         llvm::make_early_inc_range(left.without_terminator())) {
      llvm::SetVector<Value> used;
      getUsedValuesDefinedAbove(op.getRegions(), used);
      used.insert(op.operand_begin(), op.operand_end());
      bool isInside = llvm::any_of(used, [&](Value value) {
        return branch->isAncestor(value.getParentBlock()->getParentOp());
      });
      if (isInside || !isMemoryEffectFree(&op))
        continue;
      for (Operation &other : right.without_terminator())
        if (OperationEquivalence::isEquivalentTo(
                &op, &other, OperationEquivalence::IgnoreLocations)) {
          merge(&op, &other);
          break;
        }
    }
  }

  scf::IfOp branch;
  OpBuilder builder;
  const UniformityAnalysis &uniformity;
  const Divergence divergence;
  /// The operations hoisted by `shareFree`, without duplicates.
  SmallVector<Operation *> shared;
};

/// Replaces branches on constant conditions by the side that is taken: the
/// collectives of the other side need no counterpart.
void foldConstantBranches(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  function.walk([&](scf::IfOp branch) {
    llvm::APInt condition;
    if (!matchPattern(branch.getCondition(), m_ConstantInt(&condition)))
      return;
    Region &taken =
        condition.isZero() ? branch.getElseRegion() : branch.getThenRegion();
    if (taken.empty())
      return rewriter.eraseOp(branch);
    Operation *yield = taken.front().getTerminator();
    rewriter.inlineBlockBefore(&taken.front(), branch);
    rewriter.replaceOp(branch, yield->getOperands());
    rewriter.eraseOp(yield);
  });
}

struct AlignBranches : impl::AlignBranchesPassBase<AlignBranches> {
  void runOnOperation() override {
    foldConstantBranches(getOperation());
    bool mayDiffer = getOperation()
                         .walk([](scf::IfOp branch) {
                           return holdsCollectives(branch)
                                      ? WalkResult::interrupt()
                                      : WalkResult::advance();
                         })
                         .wasInterrupted();
    if (!mayDiffer)
      return;
    UniformityAnalysis uniformity(getOperation());
    // Outermost branches only: nested ones are aligned with them.
    SmallVector<scf::IfOp> branches;
    getOperation().walk<WalkOrder::PreOrder>([&](scf::IfOp branch) {
      if (!uniformity.getVaryingCondition(branch))
        return WalkResult::advance();
      branches.push_back(branch);
      return WalkResult::skip();
    });
    for (scf::IfOp branch : branches)
      if (holdsCollectives(branch) &&
          failed(BranchAligner(branch, uniformity,
                               uniformity.getDivergence(branch))
                     .run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace lockstep

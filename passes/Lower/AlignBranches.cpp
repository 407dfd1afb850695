//===- AlignBranches.cpp - Collectives of both sides become one -----------===//
//
// A branch that replicas may take differently has been proven to issue the same collectives on both sides. To be one
// rendezvous they have to be one command, so the branch is cut in two at each of them:
//
//   if c { a; x; b } else { d; y; e }   ->   v = if c { a; yield } else { d; yield };  z = x or y of v;  if c { b } else { e }
//
// What the second half needs of the first is carried over by the results of the first; the side that has no such value gives
// something that nobody reads. Loops with the same bounds, and branches on the same condition, that hold collectives on both sides
// change places with the branch, which is then aligned inside of them:
//
//   if c { for i { x } } else { for i { y } }   ->   for i { if c { x } else { y } }
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
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_ALIGNBRANCHESPASS
#include "passes/Passes.h.inc"

namespace {

bool holdsCollectives(Operation *op) {
  WalkResult result = op->walk([](CollectiveOpInterface) { return WalkResult::interrupt(); });
  return result.wasInterrupted();
}

/// The first operation of `region` that is a collective or holds one; null if there is none.
Operation *findFirst(Region &region) {
  for (Operation &op : region.getOps())
    if (holdsCollectives(&op))
      return &op;
  return nullptr;
}

/// The first collective in `op`, or itself.
Operation *findCollective(Operation *op) {
  Operation *found = nullptr;
  op->walk<WalkOrder::PreOrder>([&](CollectiveOpInterface collective) {
    found = collective;
    return WalkResult::interrupt();
  });
  return found;
}

/// What stands for a value on a side that does not have it.
Value createUnread(OpBuilder &builder, Location loc, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  Value none = tensor.hasStaticShape() ? Value() : arith::ConstantIndexOp::create(builder, loc, 0);
  return tensor::EmptyOp::create(builder, loc, tensor, SmallVector<Value>(tensor.getNumDynamicDims(), none));
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
    if (branch.getElseRegion().empty()) {
      OpBuilder::InsertionGuard guard(builder);
      builder.createBlock(&branch.getElseRegion());
      scf::YieldOp::create(builder, branch.getLoc());
    }
    shareFree();
    for (;;) {
      hoistCommon();
      Operation *left = findFirst(branch.getThenRegion()), *right = findFirst(branch.getElseRegion());
      if (!left && !right)
        return success();
      if (failed(alignFirst(left, right)))
        return failure();
    }
  }

private:
  static Block &side(scf::IfOp op, bool isThen) { return (isThen ? op.getThenRegion() : op.getElseRegion()).front(); }

  /// Takes what comes first on the two sides, of which one may be null, out of the branch.
  LogicalResult alignFirst(Operation *left, Operation *right) {
    if (left && right && isa<CollectiveOpInterface>(left) && isa<CollectiveOpInterface>(right) && match(left, right)) {
      cut(left, right);
      return success();
    }
    if (left && right && isSameWay(left, right)) {
      cutBefore(left, right);
      return exchange(left, right);
    }
    // A branch on one side whose own sides issue the same needs no counterpart.
    for (Operation *op : {left, right})
      if (auto inner = dyn_cast_or_null<scf::IfOp>(op))
        return BranchAligner(inner).run();
    Operation *unmatched = findCollective(left ? left : right);
    if (left && right && isa<LoopLikeOpInterface>(left))
      return unmatched->emitError(
          "expected the same loop, of the same bounds, on both sides of a branch that replicas may take differently");
    return unmatched->emitError("expected the same collectives on both sides of a branch that replicas may take differently");
  }

  /// Loops and branches that all replicas go through alike, whichever side they are on.
  static bool isSameWay(Operation *left, Operation *right) {
    if (auto one = dyn_cast<scf::IfOp>(left), other = dyn_cast<scf::IfOp>(right); one && other)
      return one.getCondition() == other.getCondition();
    auto one = dyn_cast<scf::ForOp>(left), other = dyn_cast<scf::ForOp>(right);
    return one && other && one.getLowerBound() == other.getLowerBound() && one.getUpperBound() == other.getUpperBound() &&
           one.getStep() == other.getStep() && one.getUnsignedCmp() == other.getUnsignedCmp();
  }

  /// A result of one loop or branch that stands for two: for one of `left` on the one side, and one of `right` on the other.
  struct Shared {
    Type type;
    std::optional<unsigned> left, right;
  };

  /// Where a result of what stands on a side is handed on by the branch itself.
  std::optional<unsigned> getPlace(OpResult result) const {
    for (OpOperand &use : result.getUses())
      if (isa<scf::YieldOp>(use.getOwner()) && use.getOwner()->getParentOp() == branch)
        return use.getOperandNumber();
    return std::nullopt;
  }

  /// Any two of one type can be one. What is the same on both sides, such as a variable, has to be: so those are put together that begin as
  /// one value or become one.
  SmallVector<Shared> pairResults(Operation *left, Operation *right) const {
    auto begin = [](Operation *op, unsigned i) {
      auto loop = dyn_cast<scf::ForOp>(op);
      return loop ? loop.getInitArgs()[i] : Value();
    };
    auto score = [&](unsigned i, unsigned j) {
      Value one = begin(left, i);
      std::optional<unsigned> place = getPlace(left->getResult(i));
      return 4 * (one && one == begin(right, j)) + 2 * (place && place == getPlace(right->getResult(j))) + (i == j);
    };
    SmallVector<Shared> shared;
    llvm::SmallBitVector taken(right->getNumResults());
    for (unsigned i = 0; i < left->getNumResults(); ++i) {
      Shared one{left->getResult(i).getType(), i, std::nullopt};
      for (unsigned j = 0; j < right->getNumResults(); ++j)
        if (!taken[j] && right->getResult(j).getType() == one.type && (!one.right || score(i, j) > score(i, *one.right)))
          one.right = j;
      if (one.right)
        taken.set(*one.right);
      shared.push_back(one);
    }
    for (unsigned j = 0; j < right->getNumResults(); ++j)
      if (!taken[j])
        shared.push_back({right->getResult(j).getType(), std::nullopt, j});
    return shared;
  }

  /// Makes of two loops, or branches, at the beginnings of the sides one around the branch's condition.
  LogicalResult exchange(Operation *left, Operation *right) {
    builder.setInsertionPoint(branch);
    SmallVector<Shared> shared = pairResults(left, right);
    SmallVector<scf::IfOp> inner;
    Operation *common = isa<scf::ForOp>(left) ? exchangeLoops(cast<scf::ForOp>(left), cast<scf::ForOp>(right), shared, inner)
                                              : exchangeBranches(cast<scf::IfOp>(left), cast<scf::IfOp>(right), shared, inner);
    for (auto [i, one] : llvm::enumerate(shared)) {
      if (one.left)
        left->getResult(*one.left).replaceAllUsesWith(common->getResult(i));
      if (one.right)
        right->getResult(*one.right).replaceAllUsesWith(common->getResult(i));
    }
    left->erase();
    right->erase();
    for (scf::IfOp sides : inner)
      if (failed(BranchAligner(sides).run()))
        return failure();
    return success();
  }

  Operation *exchangeLoops(scf::ForOp left, scf::ForOp right, ArrayRef<Shared> shared, SmallVector<scf::IfOp> &inner) {
    Location loc = builder.getFusedLoc({left.getLoc(), right.getLoc()});
    SmallVector<Value> inits;
    for (const Shared &one : shared) {
      Value own = one.left ? left.getInitArgs()[*one.left] : Value(), other = one.right ? right.getInitArgs()[*one.right] : Value();
      inits.push_back(own && other && own != other ? choose(loc, own, other) : own ? own : other);
    }
    auto loop =
        scf::ForOp::create(builder, loc, left.getLowerBound(), left.getUpperBound(), left.getStep(), inits, nullptr, left.getUnsignedCmp());
    loop.getBody()->clear();
    for (auto [i, one] : llvm::enumerate(shared)) {
      if (one.left)
        left.getRegionIterArg(*one.left).replaceAllUsesWith(loop.getRegionIterArg(i));
      if (one.right)
        right.getRegionIterArg(*one.right).replaceAllUsesWith(loop.getRegionIterArg(i));
    }
    for (scf::ForOp side : {left, right})
      side.getInductionVar().replaceAllUsesWith(loop.getInductionVar());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    inner.push_back(createSides(loc, left.getBody(), right.getBody(), shared, loop.getRegionIterArgs()));
    scf::YieldOp::create(builder, loc, inner.back().getResults());
    return loop;
  }

  Operation *exchangeBranches(scf::IfOp left, scf::IfOp right, ArrayRef<Shared> shared, SmallVector<scf::IfOp> &inner) {
    Location loc = builder.getFusedLoc({left.getLoc(), right.getLoc()});
    SmallVector<Type> types = llvm::map_to_vector(shared, [](const Shared &one) { return one.type; });
    auto fork = scf::IfOp::create(builder, loc, types, left.getCondition(), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    for (bool isThen : {true, false}) {
      auto getSide = [&](scf::IfOp op) { return isThen ? op.thenBlock() : op.elseBlock(); };
      getSide(fork)->clear();
      builder.setInsertionPointToStart(getSide(fork));
      inner.push_back(createSides(loc, getSide(left), getSide(right), shared, {}));
      scf::YieldOp::create(builder, loc, inner.back().getResults());
    }
    return fork;
  }

  /// What the side that is taken has.
  Value choose(Location loc, Value left, Value right) {
    auto chosen = scf::IfOp::create(
        builder, loc, branch.getCondition(), [&](OpBuilder &side, Location) { scf::YieldOp::create(side, loc, left); },
        [&](OpBuilder &side, Location) { scf::YieldOp::create(side, loc, right); });
    return chosen.getResult(0);
  }

  /// A branch like this one, with what is in `left` and `right` (null: nothing) on its sides. It gives the shared values, and what a side
  /// does not have is in `kept`, or nobody reads it.
  scf::IfOp createSides(Location loc, Block *left, Block *right, ArrayRef<Shared> shared, ValueRange kept) {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Type> types = llvm::map_to_vector(shared, [](const Shared &one) { return one.type; });
    auto sides = scf::IfOp::create(builder, loc, types, branch.getCondition(), /*withElseRegion=*/true);
    for (bool isThen : {true, false}) {
      Block &to = side(sides, isThen);
      to.clear();
      Block *from = isThen ? left : right;
      if (from)
        to.getOperations().splice(to.end(), from->getOperations(), from->begin(), Block::iterator(from->getTerminator()));
      builder.setInsertionPointToEnd(&to);
      SmallVector<Value> yielded;
      for (auto [i, one] : llvm::enumerate(shared)) {
        std::optional<unsigned> own = isThen ? one.left : one.right;
        yielded.push_back(own ? from->getTerminator()->getOperand(*own) : kept.empty() ? createUnread(builder, loc, one.type) : kept[i]);
      }
      scf::YieldOp::create(builder, loc, yielded);
    }
    return sides;
  }

  /// Moves what comes before `left` and `right` into a branch of its own.
  void cutBefore(Operation *left, Operation *right) {
    SmallVector<Type> types;
    SmallVector<Value> carried[2];
    for (bool isThen : {true, false}) {
      Operation *op = isThen ? left : right;
      for (Operation &before : llvm::make_range(op->getBlock()->begin(), Block::iterator(op)))
        llvm::append_range(carried[isThen], llvm::make_filter_range(before.getResults(), [&](Value result) {
                             return llvm::any_of(result.getUsers(), [&](Operation *user) {
                               Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
                               return ancestor == op || op->isBeforeInBlock(ancestor);
                             });
                           }));
    }
    for (bool isThen : {true, false})
      for (Value value : carried[isThen])
        types.push_back(value.getType());
    builder.setInsertionPoint(branch);
    auto first = scf::IfOp::create(builder, branch.getLoc(), types, branch.getCondition(), /*withElseRegion=*/true);
    for (bool isThen : {true, false}) {
      Block &from = side(branch, isThen), &to = side(first, isThen);
      to.clear();
      to.getOperations().splice(to.end(), from.getOperations(), from.begin(), Block::iterator(isThen ? left : right));
      builder.setInsertionPointToEnd(&to);
      SmallVector<Value> yielded;
      for (bool ofThen : {true, false})
        for (Value value : carried[ofThen])
          yielded.push_back(ofThen == isThen ? value : createUnread(builder, branch.getLoc(), value.getType()));
      scf::YieldOp::create(builder, branch.getLoc(), yielded);
    }
    unsigned position = 0;
    for (bool isThen : {true, false})
      for (Value value : carried[isThen])
        value.replaceUsesWithIf(first.getResult(position++), [&](OpOperand &use) { return branch->isAncestor(use.getOwner()); });
    if (types.empty() && isMemoryEffectFree(first))
      first.erase();
  }

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
        operands.push_back(value ? value : createUnread(builder, branch.getLoc(), type));
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
    // What is inside of them is aligned with them.
    SmallVector<scf::IfOp> branches;
    getOperation().walk<WalkOrder::PreOrder>([&](scf::IfOp branch) {
      if (!uniformity.getVaryingCondition(branch))
        return WalkResult::advance();
      branches.push_back(branch);
      return WalkResult::skip();
    });
    for (scf::IfOp branch : branches)
      if (holdsCollectives(branch) && failed(BranchAligner(branch).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace lockstep

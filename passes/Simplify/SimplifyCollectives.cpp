//===- SimplifyCollectives.cpp - Remove redundant collectives -------------===//
//
// Runs before collectives are merged and moved: each start is still next to its
// wait. All simplifications are local to a block, so that the operations they
// compare are executed equally often.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/Elementwise.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"
#include "passes/Simplify/RankSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <map>

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SIMPLIFYCOLLECTIVESPASS
#include "passes/Passes.h.inc"

namespace {

using collective::BarrierOp;
using collective::Kind;
using collective::Reduction;
using collective::StartOp;
using collective::WaitOp;

/// The number of ranks of a group; 0 if it is not known.
int64_t getGroupSize(StartOp start) {
  auto group = SymbolTable::lookupNearestSymbolFrom<collective::GroupOp>(
      start, start.getGroupAttr());
  if (group && group.getRanks())
    return group.getRanks()->size();
  for (auto strategy :
       start->getParentOfType<ModuleOp>().getOps<replica::StrategyOp>())
    return strategy.getReplicas().value_or(0);
  return 0;
}

/// Whether the wait for a collective of this kind implies a barrier: no rank
/// leaves it before all have issued the start.
bool impliesBarrier(StartOp start) {
  const runtime::CollectiveProperties &kind = start.getKindProperties();
  return kind.operandHolders == runtime::Holders::all && kind.isSameForAll();
}

//===----------------------------------------------------------------------===//
// Reductions of equal values
//===----------------------------------------------------------------------===//

Value combine(OpBuilder &b, Location loc, Reduction reduction, Value lhs,
              Value rhs) {
  bool isFloat = isa<FloatType>(lhs.getType());
  if (reduction == Reduction::Sum)
    return isFloat ? arith::AddFOp::create(b, loc, lhs, rhs).getResult()
                   : arith::AddIOp::create(b, loc, lhs, rhs).getResult();
  return isFloat ? arith::MulFOp::create(b, loc, lhs, rhs).getResult()
                 : arith::MulIOp::create(b, loc, lhs, rhs).getResult();
}

/// The reduction of `count` copies of `value`, with the tree of all reductions:
/// split at the largest power of two below the count. Subtrees of the same size
/// are shared, so the number of operations is at most about twice the logarithm
/// of the count.
Value reduceEqual(OpBuilder &b, Location loc, Reduction reduction, Value value,
                  int64_t count, std::map<int64_t, Value> &known) {
  if (count == 1)
    return value;
  if (Value &reduced = known[count])
    return reduced;
  int64_t low = llvm::bit_floor(static_cast<uint64_t>(count - 1));
  Value left = reduceEqual(b, loc, reduction, value, low, known);
  Value right = reduceEqual(b, loc, reduction, value, count - low, known);
  return known[count] = combine(b, loc, reduction, left, right);
}

/// The result of an all_reduce among `count` ranks that all have the same
/// `operand`.
Value reduceLocally(OpBuilder &builder, Location loc, Reduction reduction,
                    Value operand, RankedTensorType result, int64_t count) {
  Type element = cast<RankedTensorType>(operand.getType()).getElementType();
  if ((reduction == Reduction::Min || reduction == Reduction::Max) &&
      operand.getType() == result)
    return operand;
  // f16 and bf16 accumulate in f32.
  bool isNarrow = element.isF16() || element.isBF16();
  return createElementwise(
      builder, loc, result, operand, [&](OpBuilder &b, ValueRange in) {
        Value value = isNarrow
                          ? arith::ExtFOp::create(b, loc, b.getF32Type(), in[0])
                                .getResult()
                          : in[0];
        if (reduction == Reduction::Sum || reduction == Reduction::Product) {
          std::map<int64_t, Value> known;
          value = reduceEqual(b, loc, reduction, value, count, known);
        }
        return value.getType() == result.getElementType()
                   ? value
                   : arith::TruncFOp::create(b, loc, result.getElementType(),
                                             value)
                         .getResult();
      });
}

//===----------------------------------------------------------------------===//
// Sums of sums
//===----------------------------------------------------------------------===//

/// Whether `op` adds its two operands element by element.
bool isSum(Operation *op) {
  if (op->getNumOperands() == 0 || op->getNumResults() != 1)
    return false;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumDpsInputs() != 2 ||
      linalgOp.getNumReductionLoops() != 0 ||
      llvm::any_of(linalgOp.getIndexingMapsArray(),
                   [](AffineMap map) { return !map.isIdentity(); }))
    return false;
  Block &body = *linalgOp.getBlock();
  if (!llvm::hasNItems(body, 2) ||
      !isa<arith::AddFOp, arith::AddIOp>(body.front()))
    return false;
  auto isInput = [&](Value value, unsigned number) {
    return value == body.getArgument(number);
  };
  Value lhs = body.front().getOperand(0), rhs = body.front().getOperand(1);
  return ((isInput(lhs, 0) && isInput(rhs, 1)) ||
          (isInput(lhs, 1) && isInput(rhs, 0))) &&
         body.getTerminator()->getOperand(0) == body.front().getResult(0);
}

/// The start of an all_reduce whose only result is `value`, which is used once
/// and has the operand's type; null otherwise.
StartOp getSummand(Value value, Block *block) {
  auto wait = value.getDefiningOp<WaitOp>();
  if (!wait || wait->getBlock() != block || wait.getNumResults() != 1 ||
      !value.hasOneUse())
    return nullptr;
  StartOp start = wait.getStart();
  bool isSummed = start.getKind() == Kind::AllReduce &&
                  start.getReduction() == Reduction::Sum;
  return isSummed && value.getType() == start.getInputs()[0].getType()
             ? start
             : nullptr;
}

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

class Simplifier {
public:
  Simplifier(func::FuncOp step, bool reassociate)
      : step(step), builder(step.getContext()), reassociate(reassociate),
        uniformity(step) {
    auto insert = [&](ValueRange values) {
      for (Value value : values)
        if (uniformity.isUniform(value))
          uniform.insert(value);
    };
    step.walk([&](Operation *op) {
      if (auto wait = dyn_cast<WaitOp>(op))
        insert(wait.getResults());
      auto start = dyn_cast<StartOp>(op);
      if (!start)
        return;
      insert(start.getInputs());
      for (Value input : start.getInputs())
        if (auto slice = input.getDefiningOp<tensor::ExtractSliceOp>())
          insert(slice.getSource());
    });
  }

  /// Returns the number of removed exchanges.
  unsigned run() {
    SmallVector<Block *> blocks;
    step.walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks) {
      reduceUniform(*block);
      mergeDuplicates(*block);
      gatherRankSlices(*block);
      addBefore(*block);
      removeDead(*block);
      removeBarriers(*block);
    }
    return count;
  }

private:
  bool isUniform(Value value) const { return uniform.contains(value); }

  void reduceUniform(Block &block) {
    for (StartOp start : llvm::make_early_inc_range(block.getOps<StartOp>())) {
      bool isReduced = start.getKind() == Kind::AllReduce,
           isBroadcast = start.getKind() == Kind::Broadcast;
      int64_t ranks = getGroupSize(start);
      bool known = (isReduced && ranks > 0) || isBroadcast;
      // If ranks of another role have the operands, they are not known here.
      known &= start.getInputs().size() == waitOf(start).getNumResults();
      for (Value operand : start.getInputs())
        known &= isUniform(operand) &&
                 cast<RankedTensorType>(operand.getType()).hasStaticShape();
      if (!known)
        continue;
      builder.setInsertionPoint(start);
      for (auto [operand, result] :
           llvm::zip_equal(start.getInputs(), waitOf(start).getResults())) {
        Value local = operand;
        if (isReduced)
          local = reduceLocally(
              builder, start.getLoc(), start.getReduction(), operand,
              cast<RankedTensorType>(result.getType()), ranks);
        uniform.insert(local);
        result.replaceAllUsesWith(local);
      }
      remove(start,
             "is computed on the spot: its operands are equal on all ranks");
    }
  }

  /// The results of a collective depend only on its operands and attributes, so
  /// a repeated one in the block is redundant.
  void mergeDuplicates(Block &block) {
    for (StartOp start : llvm::make_early_inc_range(block.getOps<StartOp>())) {
      StartOp earlier = findEarlier(start);
      if (!earlier)
        continue;
      WaitOp first = waitOf(earlier), second = waitOf(start);
      // The wait of the first may be behind that of the second.
      if (second->isBeforeInBlock(first))
        first->moveBefore(second);
      second.replaceAllUsesWith(first.getResults());
      remove(start, "repeats an earlier one" + atLine(earlier.getLoc()));
    }
  }

  /// An identical start before `start` in its block; null if there is none.
  static StartOp findEarlier(StartOp start) {
    if (start.getInputs().empty())
      return nullptr;
    for (Operation *user : start.getInputs().front().getUsers()) {
      auto other = dyn_cast<StartOp>(user);
      if (other && other->getBlock() == start->getBlock() &&
          other->isBeforeInBlock(start) &&
          other.getInputs() == start.getInputs() &&
          other.getPending().getType() == start.getPending().getType() &&
          other->getAttrDictionary() == start->getAttrDictionary())
        return other;
    }
    return nullptr;
  }

  /// Simplifies collectives of parts, of which each rank has its own.
  void gatherRankSlices(Block &block) {
    const RankConstants &constants = uniformity.getConstants();
    for (StartOp start : llvm::make_early_inc_range(block.getOps<StartOp>())) {
      int64_t ranks = hasAllRanks(start) ? getGroupSize(start) : 0;
      if (ranks < 2)
        continue;
      if (OwnRows users = findOwnRows(start, constants, ranks);
          !users.slices.empty()) {
        removed(start.getLoc(), collectiveText(start) +
                                    " becomes a reduce_scatter: each rank "
                                    "uses its own rows only");
        for (Value value : scatterReduction(start, users))
          uniform.erase(value);
      } else if (StartOp scatter = findGatheredScatter(start)) {
        removed(start.getLoc(),
                collectiveText(start) + " and the reduce_scatter before it" +
                    atLine(scatter.getLoc()) + " become an all_reduce");
        uniform.insert(reduceForAll(scatter, start));
      } else if (Value source = findGatheredValue(start, ranks)) {
        waitOf(start).getResult(0).replaceAllUsesWith(source);
        remove(start, "collects the parts of a value that all ranks have");
      }
    }
  }

  /// The uniform value of whose rows each rank contributes its own to an
  /// all_gather; null for any other collective.
  Value findGatheredValue(StartOp start, int64_t ranks) const {
    if (start.getKind() != Kind::AllGather || start.getInputs().size() != 1 ||
        start.getAxis().value_or(0) != 0)
      return nullptr;
    auto slice = start.getInputs()[0].getDefiningOp<tensor::ExtractSliceOp>();
    return slice && isSliceOfRank(slice, uniformity.getConstants(), ranks) &&
                   isUniform(slice.getSource())
               ? slice.getSource()
               : nullptr;
  }

  /// Whether the group is that of all replicas, and of no other ranks.
  static bool hasAllRanks(StartOp start) {
    auto group = SymbolTable::lookupNearestSymbolFrom<collective::GroupOp>(
        start, start.getGroupAttr());
    return group && !group.getRanks();
  }

  void addBefore(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!isSum(&op))
        continue;
      auto type = cast<RankedTensorType>(op.getResult(0).getType());
      StartOp left = getSummand(op.getOperand(0), &block),
              right = getSummand(op.getOperand(1), &block);
      bool isExact = isa<IntegerType>(type.getElementType());
      if (!left || !right ||
          left->getAttrDictionary() != right->getAttrDictionary() ||
          (!isExact && !reassociate))
        continue;
      builder.setInsertionPoint(&op);
      Location loc =
          builder.getFusedLoc({left.getLoc(), right.getLoc(), op.getLoc()});
      Value sum = createElementwise(
          builder, loc, type, {left.getInputs()[0], right.getInputs()[0]},
          [&](OpBuilder &b, ValueRange in) {
            return combine(b, loc, Reduction::Sum, in[0], in[1]);
          });
      uniform.erase(sum);
      auto start = cast<StartOp>(builder.clone(*left));
      start->setLoc(loc);
      start.getInputsMutable().assign(sum);
      auto wait =
          WaitOp::create(builder, loc, TypeRange(type), start, ValueRange(sum));
      uniform.insert(wait.getResult(0));
      op.getResult(0).replaceAllUsesWith(wait.getResult(0));
      op.erase();
      remove(left,
             "is added to the operand of another one" + atLine(right.getLoc()));
      eraseWithWait(right);
    }
  }

  /// In reverse order, so that users are erased first: a collective that only
  /// dead ones use is dead when it is visited.
  void removeDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (isOpTriviallyDead(&op))
        op.erase();
      else if (auto wait = dyn_cast<WaitOp>(op); wait && wait.use_empty())
        unused.push_back(wait.getStart());
      else if (auto start = dyn_cast<StartOp>(op);
               start && llvm::is_contained(unused, start))
        remove(start, "has a result that nobody uses");
    }
    unused.clear();
  }

  /// Of two operations that synchronize all ranks, without side effects between
  /// them, a barrier is redundant.
  void removeBarriers(Block &block) {
    if (block.getOps<BarrierOp>().empty())
      return;
    Operation *previous = nullptr;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isMemoryEffectFree(&op))
        continue;
      auto before = dyn_cast_or_null<BarrierOp>(previous);
      auto waited = dyn_cast_or_null<WaitOp>(previous);
      previous = &op;
      if (auto barrier = dyn_cast<BarrierOp>(op)) {
        bool isImplied =
            (before && before.getGroupAttr() == barrier.getGroupAttr()) ||
            (waited && impliesBarrier(waited.getStart()) &&
             waited.getStart().getGroupAttr() == barrier.getGroupAttr());
        if (!isImplied)
          continue;
        previous = before ? before.getOperation() : waited.getOperation();
        removed(barrier.getLoc(), "barrier is implied by the " +
                                      Twine(before ? "one" : "collective") +
                                      " before it" +
                                      atLine(previous->getLoc()));
        barrier.erase();
      } else if (auto start = dyn_cast<StartOp>(op);
                 start && before && impliesBarrier(start) &&
                 before.getGroupAttr() == start.getGroupAttr()) {
        removed(before.getLoc(),
                "barrier is implied by the collective behind it" +
                    atLine(start.getLoc()));
        before.erase();
      }
    }
  }

  void removed(Location loc, const Twine &what) {
    remark::passed(loc, decision(Stage::Simplify, "Removed", step.getSymName()))
        << what.str();
    ++count;
  }

  void remove(StartOp start, const Twine &reason) {
    removed(start.getLoc(), collectiveText(start) + " " + reason);
    eraseWithWait(start);
  }

  func::FuncOp step;
  OpBuilder builder;
  bool reassociate;
  UniformityAnalysis uniformity;
  /// Values that are equal on all ranks, of those that collectives read or
  /// write. The analysis knows nothing of values that are created after it,
  /// which may have the address of one that was erased: each new value that a
  /// collective may read is added or removed.
  llvm::DenseSet<Value> uniform;
  /// Starts whose results have no uses.
  SmallVector<StartOp> unused;
  unsigned count = 0;
};

struct SimplifyCollectives
    : impl::SimplifyCollectivesPassBase<SimplifyCollectives> {
  using SimplifyCollectivesPassBase::SimplifyCollectivesPassBase;

  void runOnOperation() override {
    removed += Simplifier(getOperation(), reassociate).run();
  }
};

} // namespace
} // namespace lockstep

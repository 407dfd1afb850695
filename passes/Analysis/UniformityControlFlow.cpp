//===- UniformityControlFlow.cpp - Control dependence ---------------------===//
//
// A value is varying if it is control-dependent on a varying condition, even if
// all its operands are uniform. Control dependence follows from the structure
// of `scf` branches and loops, and from post-dominance between blocks.
//
//===----------------------------------------------------------------------===//

#include "passes/Analysis/UniformityAnalysis.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include <map>

using namespace lockstep;
using namespace mlir;

void UniformityAnalysis::visitRegionBranch(OpOperand &use, Operation *branch,
                                           PartitionId partition) {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  Reason reason{VaryingBy::Operand, branch, use.get()};
  if (auto loop = dyn_cast<scf::ForOp>(branch)) {
    unsigned controls = op == branch ? loop.getNumControlOperands() : 0;
    if (index < controls)
      return visitBounds(use, partition);
    if (op == branch || !isBroken(UniformityRule::IterationsAreIgnored))
      mark(loop.getRegionIterArg(index - controls), reason, partition);
    return mark(loop.getResult(index - controls), reason, partition);
  }
  if (auto loop = dyn_cast<scf::WhileOp>(branch)) {
    if (isa<scf::YieldOp>(op) && isBroken(UniformityRule::IterationsAreIgnored))
      return;
    if (!isa<scf::ConditionOp>(op))
      return mark(loop.getBeforeArguments()[index], reason, partition);
    if (index == 0)
      return diverge(branch, use.get(), partition);
    mark(loop.getAfterArguments()[index - 1], reason, partition);
    return mark(loop.getResult(index - 1), reason, partition);
  }
  if (op == branch)
    return diverge(branch, use.get(), partition);
  // Only the ranks that enter a region contribute the value that it yields.
  if (SmallVector<unsigned> taken = constants.getTakenRegions(branch);
      !taken.empty()) {
    llvm::BitVector ranks(taken.size());
    for (auto [rank, region] : llvm::enumerate(taken))
      if (region == op->getParentRegion()->getRegionNumber())
        ranks.set(rank);
    partition = partitions.restrict(partition, ranks);
  }
  mark(branch->getResult(index), reason, partition);
}

/// A bound or step of a loop, which decides the trip count and the values of
/// the induction variable.
void UniformityAnalysis::visitBounds(OpOperand &use, PartitionId partition) {
  auto loop = cast<scf::ForOp>(use.getOwner());
  mark(loop.getInductionVar(), {VaryingBy::Operand, loop, use.get()},
       partition);
  if (SmallVector<uint64_t> counts = constants.getTripCounts(loop);
      !counts.empty()) {
    // Not a DenseMap: its two reserved keys may be trip counts.
    std::map<uint64_t, uint32_t> numbers;
    SmallVector<uint32_t> classes;
    for (uint64_t count : counts)
      classes.push_back(
          numbers.try_emplace(count, numbers.size()).first->second);
    partition = partitions.get(classes);
  }
  diverge(loop, use.get(), partition);
}

bool UniformityAnalysis::addDivergence(Operation *branch, Value condition,
                                       PartitionId partition) {
  Divergence &known = divergent[branch];
  PartitionId together = partitions.meet(known.partition, partition);
  if (together == known.partition) {
    if (!known)
      divergent.erase(branch);
    return false;
  }
  known = {branch, condition, together};
  return true;
}

void UniformityAnalysis::diverge(Operation *branch, Value condition,
                                 PartitionId partition) {
  if (!addDivergence(branch, condition, partition) ||
      isBroken(UniformityRule::PathsAreIgnored))
    return;
  Reason reason{VaryingBy::Control, branch, condition};
  markAll(branch->getResults(), reason, partition);
  for (Region &region : branch->getRegions())
    markAll(region.getArguments(), reason, partition);
  branch->walk(
      [&](Operation *inner) { visitAssignment(inner, condition, partition); });
}

void UniformityAnalysis::markInside(Operation *op, Reason reason,
                                    PartitionId partition) {
  op->walk([&](Operation *inner) {
    markAll(inner->getResults(), reason, partition);
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        markAll(block.getArguments(), reason, partition);
    visitAssignment(inner, reason.from, partition);
  });
}

void UniformityAnalysis::visitBlockBranch(OpOperand &use,
                                          PartitionId partition) {
  Operation *op = use.getOwner();
  auto branch = dyn_cast<BranchOpInterface>(op);
  if (!branch)
    return divergeBlocks(op, use.get(), partition);
  if (std::optional<BlockArgument> argument =
          branch.getSuccessorBlockArgument(use.getOperandNumber()))
    return mark(*argument, {VaryingBy::Operand, op, use.get()}, partition);
  divergeBlocks(op, use.get(), partition);
}

void UniformityAnalysis::divergeBlocks(Operation *terminator, Value condition,
                                       PartitionId partition) {
  if (!addDivergence(terminator, condition, partition))
    return;
  // Replicas take different paths from here to the post-dominator, where they
  // reconverge.
  Block *origin = terminator->getBlock();
  if (!postDominance)
    postDominance = std::make_unique<PostDominanceInfo>();
  Block *join = getJoin(*postDominance, origin);
  // A block with the maximal number of divergences of the same join and at
  // least as fine a partition has been marked, and so have its successors.
  auto isMarkedAlready = [&](Block *block) {
    return llvm::count_if(
               getDivergencesOf(block), [&](const Divergence &other) {
                 return other.branch != terminator && other.join == join &&
                        partitions.meet(other.partition, partition) ==
                            other.partition;
               }) >= kMostDivergences;
  };
  llvm::SmallSetVector<Block *, 8> between;
  SmallVector<Block *> pending(origin->getSuccessors());
  while (!pending.empty()) {
    Block *block = pending.pop_back_val();
    if (block != join && !isMarkedAlready(block) && between.insert(block))
      llvm::append_range(pending, block->getSuccessors());
  }
  Reason reason{VaryingBy::Control, terminator, condition};
  // The arguments of the join depend on the path; so do values that are defined
  // in `between` (for example in a loop) and used behind it.
  bool isMarked = !isBroken(UniformityRule::JoinsAreIgnored);
  if (join && isMarked)
    markAll(join->getArguments(), reason, partition);
  for (Block *block : between) {
    divergentBlocks[block].push_back({terminator, condition, partition, join});
    if (!isMarked)
      continue;
    markAll(block->getArguments(), reason, partition);
    for (Operation &op : *block)
      markInside(&op, reason, partition);
  }
}

Block *lockstep::getJoin(PostDominanceInfo &postDominance, Block *origin) {
  DominanceInfoNode *node = postDominance.getNode(origin);
  DominanceInfoNode *parent = node ? node->getIDom() : nullptr;
  return parent ? parent->getBlock() : nullptr;
}

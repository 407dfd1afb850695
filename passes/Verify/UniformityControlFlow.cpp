//===- UniformityControlFlow.cpp - Values that depend on the way ----------===//
//
// Control dependence: a value is varying if the way to it is decided by a varying value, even if all it is computed from is
// uniform. Branches and loops of `scf` by their structure, blocks by post-dominance.
//
//===----------------------------------------------------------------------===//

#include "passes/Verify/Uniformity.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace lockstep;
using namespace mlir;

void UniformityAnalysis::visitRegionBranch(OpOperand &use, Operation *branch) {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  Reason reason{VaryingBy::Operand, branch, use.get()};
  if (auto loop = dyn_cast<scf::ForOp>(branch)) {
    unsigned controls = op == branch ? loop.getNumControlOperands() : 0;
    if (index < controls)
      return diverge(branch, use.get());
    mark(loop.getRegionIterArg(index - controls), reason);
    return mark(loop.getResult(index - controls), reason);
  }
  if (auto loop = dyn_cast<scf::WhileOp>(branch)) {
    if (!isa<scf::ConditionOp>(op))
      return mark(loop.getBeforeArguments()[index], reason);
    if (index == 0)
      return diverge(branch, use.get());
    mark(loop.getAfterArguments()[index - 1], reason);
    return mark(loop.getResult(index - 1), reason);
  }
  if (op == branch)
    return diverge(branch, use.get());
  mark(branch->getResult(index), reason);
}

void UniformityAnalysis::diverge(Operation *branch, Value condition) {
  if (!divergent.try_emplace(branch, condition).second)
    return;
  Reason reason{VaryingBy::Control, branch, condition};
  markAll(branch->getResults(), reason);
  for (Region &region : branch->getRegions())
    markAll(region.getArguments(), reason);
  branch->walk([&](Operation *inner) { visitAssignment(inner, condition); });
}

void UniformityAnalysis::markInside(Operation *op, Reason reason) {
  op->walk([&](Operation *inner) {
    markAll(inner->getResults(), reason);
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        markAll(block.getArguments(), reason);
    visitAssignment(inner, reason.from);
  });
}

void UniformityAnalysis::visitBlockBranch(OpOperand &use) {
  Operation *op = use.getOwner();
  auto branch = dyn_cast<BranchOpInterface>(op);
  if (!branch)
    return divergeBlocks(op, use.get());
  if (std::optional<BlockArgument> argument = branch.getSuccessorBlockArgument(use.getOperandNumber()))
    return mark(*argument, {VaryingBy::Operand, op, use.get()});
  divergeBlocks(op, use.get());
}

void UniformityAnalysis::divergeBlocks(Operation *terminator, Value condition) {
  if (!divergent.try_emplace(terminator, condition).second)
    return;
  // Replicas go different ways from here to the first block that all of them come through again.
  Block *origin = terminator->getBlock();
  if (!postDominance)
    postDominance = std::make_unique<PostDominanceInfo>();
  DominanceInfoNode *node = postDominance->getNode(origin);
  DominanceInfoNode *parent = node ? node->getIDom() : nullptr;
  Block *join = parent ? parent->getBlock() : nullptr;

  llvm::SmallSetVector<Block *, 8> between;
  SmallVector<Block *> pending(origin->getSuccessors());
  while (!pending.empty()) {
    Block *block = pending.pop_back_val();
    if (block != join && between.insert(block))
      llvm::append_range(pending, block->getSuccessors());
  }
  Reason reason{VaryingBy::Control, terminator, condition};
  // What arrives at the join depends on the way; so does what a loop leaves behind, which is inside of `between`.
  if (join)
    markAll(join->getArguments(), reason);
  for (Block *block : between) {
    divergentBlocks.try_emplace(block, Divergence{terminator, condition});
    markAll(block->getArguments(), reason);
    for (Operation &op : *block)
      markInside(&op, reason);
  }
}

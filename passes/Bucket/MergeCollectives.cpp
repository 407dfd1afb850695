//===- MergeCollectives.cpp - Make one collective of several --------------===//

#include "passes/Bucket/MergeCollectives.h"

using namespace lockstep;
using namespace mlir;

collective::WaitOp lockstep::getWait(collective::StartOp start) {
  return cast<collective::WaitOp>(*start->user_begin());
}

void lockstep::addDependents(Operation *root,
                             llvm::SetVector<Operation *> &dependents) {
  unsigned known = dependents.size();
  dependents.insert(root);
  for (unsigned i = known; i < dependents.size(); ++i)
    for (Operation *user : dependents[i]->getUsers())
      if (Operation *ancestor = root->getBlock()->findAncestorOpInBlock(*user))
        dependents.insert(ancestor);
}

/// Makes one collective of several at the last one, without moving other
/// operations.
static collective::StartOp merge(ArrayRef<collective::StartOp> bucket) {
  collective::StartOp last = bucket.back();
  OpBuilder builder(last);
  SmallVector<Value> operands;
  SmallVector<Type> results;
  SmallVector<Location> locations;
  // Reports name the first location: that of the largest member.
  collective::StartOp largest = bucket.front();
  for (collective::StartOp start : bucket) {
    llvm::append_range(operands, start.getInputs());
    llvm::append_range(results, start.getPending().getType().getResults());
    if (start.getContributedBytes() > largest.getContributedBytes())
      largest = start;
  }
  locations.push_back(largest.getLoc());
  for (collective::StartOp start : bucket)
    locations.push_back(start.getLoc());
  Location loc = builder.getFusedLoc(locations);
  auto merged = collective::StartOp::create(
      builder, loc, collective::PendingType::get(builder.getContext(), results),
      last.getKindAttr(), last.getReductionAttr(), last.getGroupAttr(),
      IntegerAttr(), operands,
      /*sizes=*/ValueRange(), last.getAxisAttr(), last.getBytesPerPackAttr(),
      /*bounds=*/DenseI64ArrayAttr(), /*root=*/IntegerAttr(),
      /*sources=*/DenseI64ArrayAttr());
  auto wait =
      collective::WaitOp::create(builder, loc, results, merged, operands);
  unsigned offset = 0;
  for (collective::StartOp start : bucket) {
    collective::WaitOp old = getWait(start);
    old.replaceAllUsesWith(
        wait.getResults().slice(offset, old.getNumResults()));
    offset += old.getNumResults();
    old.erase();
    start.erase();
  }
  return merged;
}

/// Moves each operation that is before the definition of an operand behind it.
/// All others keep their order, and so do those that move behind the same one.
static void restoreDominance(Block &block) {
  llvm::DenseSet<Operation *> unplaced;
  for (Operation &op : block)
    unplaced.insert(&op);
  // For each operation that moves, the one that it moves behind; and for that
  // one, those that move.
  llvm::DenseMap<Operation *, Operation *> behind;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> moved;
  SmallVector<Operation *> order, stack;
  for (Operation &op : block) {
    Operation *last = nullptr;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        // What an operation that moves is behind, this one is, too.
        if (!producer || producer == &op || !unplaced.contains(producer))
          continue;
        Operation *fixed = behind.lookup(producer);
        fixed = fixed ? fixed : producer;
        if (!last || last->isBeforeInBlock(fixed))
          last = fixed;
      }
    });
    if (last) {
      behind[&op] = last;
      moved[last].push_back(&op);
      continue;
    }
    stack.push_back(&op);
    while (!stack.empty()) {
      Operation *next = stack.pop_back_val();
      order.push_back(next);
      unplaced.erase(next);
      if (auto it = moved.find(next); it != moved.end())
        llvm::append_range(stack, llvm::reverse(it->second));
    }
  }
  if (!behind.empty())
    for (Operation *op : order)
      op->moveBefore(&block, block.end());
}

SmallVector<collective::StartOp>
lockstep::mergeCollectives(Block &block,
                           ArrayRef<ArrayRef<collective::StartOp>> buckets) {
  SmallVector<collective::StartOp> merged = llvm::map_to_vector(buckets, merge);
  restoreDominance(block);
  return merged;
}

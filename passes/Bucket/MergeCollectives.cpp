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

/// Moves all operations before `wait` that depend on a wait of `bucket` behind
/// it, in the same order.
static void moveDependents(ArrayRef<collective::StartOp> bucket,
                           collective::WaitOp wait) {
  llvm::SetVector<Operation *> dependents;
  llvm::DenseSet<Operation *> waits;
  for (collective::StartOp start : bucket) {
    waits.insert(getWait(start));
    addDependents(getWait(start), dependents);
  }
  SmallVector<Operation *> ordered;
  for (Operation *op : dependents)
    if (op->isBeforeInBlock(wait) && !waits.contains(op))
      ordered.push_back(op);
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Operation *position = wait;
  for (Operation *op : ordered) {
    op->moveAfter(position);
    position = op;
  }
}

collective::StartOp
lockstep::mergeCollectives(ArrayRef<collective::StartOp> bucket) {
  collective::StartOp last = bucket.back();
  OpBuilder builder(last);
  SmallVector<Value> operands;
  SmallVector<Type> results;
  SmallVector<Location> locations;
  for (collective::StartOp start : bucket) {
    llvm::append_range(operands, start.getInputs());
    llvm::append_range(results, start.getPending().getType().getResults());
  }
  // Reports name the first location: that of the largest member.
  collective::StartOp largest = bucket.front();
  for (collective::StartOp start : bucket)
    if (start.getContributedBytes() > largest.getContributedBytes())
      largest = start;
  locations.push_back(largest.getLoc());
  for (collective::StartOp start : bucket)
    locations.push_back(start.getLoc());
  Location loc = builder.getFusedLoc(locations);
  auto merged = collective::StartOp::create(
      builder, loc, collective::PendingType::get(builder.getContext(), results),
      last.getKindAttr(), last.getReductionAttr(), last.getGroupAttr(),
      IntegerAttr(), operands,
      /*sizes=*/ValueRange(), IntegerAttr(), last.getBytesPerPackAttr(),
      /*bounds=*/DenseI64ArrayAttr(), /*root=*/IntegerAttr(),
      /*sources=*/DenseI64ArrayAttr());
  auto wait =
      collective::WaitOp::create(builder, loc, results, merged, operands);
  moveDependents(bucket, wait);
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

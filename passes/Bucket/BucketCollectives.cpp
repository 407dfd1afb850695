//===- BucketCollectives.cpp - Merges collectives into buckets ------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_BUCKETCOLLECTIVESPASS
#include "passes/Passes.h.inc"

namespace {

/// Collectives that may share a bucket agree in this.
using BucketKey = std::tuple<Attribute, int32_t, int32_t, Type, int64_t>;

BucketKey getKey(collective::StartOp start) {
  Type element = cast<RankedTensorType>(start.getInputs().front().getType()).getElementType();
  return {start.getGroupAttr(), static_cast<int32_t>(start.getKind()), static_cast<int32_t>(start.getReduction()), element,
          start.getBytesPerPack()};
}

bool mayBeBucketed(collective::StartOp start) {
  if (start.getKind() != collective::Kind::AllReduce || start.getInputs().empty() || !start.getContributedBytes())
    return false;
  Type element = cast<RankedTensorType>(start.getInputs().front().getType()).getElementType();
  return llvm::all_of(start.getInputs(), [&](Value operand) {
    return cast<RankedTensorType>(operand.getType()).getElementType() == element;
  });
}

collective::WaitOp getWait(collective::StartOp start) { return cast<collective::WaitOp>(*start->user_begin()); }

/// Operations of the block that depend on `root`, itself included.
llvm::SetVector<Operation *> getDependents(Operation *root) {
  llvm::SetVector<Operation *> dependents;
  dependents.insert(root);
  for (unsigned i = 0; i < dependents.size(); ++i)
    for (Operation *user : dependents[i]->getUsers())
      if (Operation *ancestor = root->getBlock()->findAncestorOpInBlock(*user))
        dependents.insert(ancestor);
  return dependents;
}

struct BucketCollectives : impl::BucketCollectivesPassBase<BucketCollectives> {
  using BucketCollectivesPassBase::BucketCollectivesPassBase;

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      runOnBlock(*block);
  }

  void runOnBlock(Block &block) {
    llvm::MapVector<BucketKey, SmallVector<collective::StartOp>> candidates;
    for (auto start : block.getOps<collective::StartOp>())
      if (mayBeBucketed(start))
        candidates[getKey(start)].push_back(start);
    for (auto &[key, starts] : candidates) {
      // Buckets of other keys have moved what depends on them.
      llvm::sort(starts, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
      int64_t bound = std::get<int64_t>(key) != 0 ? std::get<int64_t>(key) : bytesPerPack;
      SmallVector<collective::StartOp> bucket;
      llvm::DenseSet<Operation *> dependents;
      int64_t size = 0;
      for (collective::StartOp start : starts) {
        int64_t bytes = *start.getContributedBytes();
        bool full = bound > 0 && size + bytes > bound;
        if (!bucket.empty() && (full || dependents.contains(start))) {
          merge(bucket);
          bucket.clear();
          dependents.clear();
          size = 0;
        }
        bucket.push_back(start);
        size += bytes;
        for (Operation *op : getDependents(getWait(start)))
          dependents.insert(op);
      }
      merge(bucket);
    }
  }

  /// Replaces the collectives of `bucket` by one, where the last of them starts. What depends on the others moves behind its wait.
  void merge(ArrayRef<collective::StartOp> bucket) {
    if (bucket.size() < 2)
      return;
    collective::StartOp last = bucket.back();
    OpBuilder builder(last);
    SmallVector<Value> operands;
    SmallVector<Type> results;
    SmallVector<Location> locations;
    for (collective::StartOp start : bucket) {
      llvm::append_range(operands, start.getInputs());
      llvm::append_range(results, start.getPending().getType().getResults());
      locations.push_back(start.getLoc());
    }
    Location loc = builder.getFusedLoc(locations);
    auto merged = collective::StartOp::create(builder, loc, collective::PendingType::get(builder.getContext(), results),
                                              last.getKindAttr(), last.getReductionAttr(), last.getGroupAttr(), IntegerAttr(), operands,
                                              IntegerAttr(), last.getBytesPerPackAttr());
    auto wait = collective::WaitOp::create(builder, loc, results, merged, operands);

    // Everything between the first wait and the new one that depends on a result comes after it, in the same order.
    llvm::DenseSet<Operation *> moved;
    for (collective::StartOp start : bucket)
      for (Operation *op : getDependents(getWait(start)))
        if (op->isBeforeInBlock(wait) && op != getWait(start))
          moved.insert(op);
    SmallVector<Operation *> ordered(moved.begin(), moved.end());
    llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    Operation *position = wait;
    for (Operation *op : ordered) {
      op->moveAfter(position);
      position = op;
    }

    unsigned offset = 0;
    for (collective::StartOp start : bucket) {
      collective::WaitOp old = getWait(start);
      old.replaceAllUsesWith(wait.getResults().slice(offset, old.getNumResults()));
      offset += old.getNumResults();
      old.erase();
      start.erase();
    }
  }
};
} // namespace
} // namespace lockstep

//===- BucketCollectives.cpp - Merges collectives into buckets ------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"

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
  return llvm::all_of(start.getInputs(),
                      [&](Value operand) { return cast<RankedTensorType>(operand.getType()).getElementType() == element; });
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

/// Whether other roles take part in `op`, or in an operation in it: exchanges with them are in one order on both sides.
bool isWithOtherRoles(Operation *op) {
  return op
      ->walk([](CollectiveOpInterface collective) {
        auto name = collective->getAttrOfType<FlatSymbolRefAttr>("group");
        auto group = name ? SymbolTable::lookupNearestSymbolFrom<collective::GroupOp>(collective, name) : nullptr;
        auto role = device::getRole(collective->getParentOfType<func::FuncOp>());
        if (!group || !role)
          return WalkResult::advance();
        // The group of all replicas, without a list, is that of a role.
        int64_t first = role.getFirstRank(), end = first + role.getRanks();
        ArrayRef<int64_t> ranks = group.getRanks().value_or(ArrayRef<int64_t>());
        bool isOwn = !group.getWithReplicas() && llvm::all_of(ranks, [&](int64_t rank) { return first <= rank && rank < end; });
        return isOwn ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Whether an exchange with another role that depends on the members of a bucket would move behind another one if `next` became a member:
/// the other role, which the first may tell what to give in the second, would wait for ever.
bool wouldReorderExchanges(collective::StartOp first, collective::StartOp next, const llvm::DenseSet<Operation *> &dependents) {
  bool moves = false;
  for (Operation *op = first->getNextNode(); op != next; op = op->getNextNode()) {
    bool isMoved = dependents.contains(op);
    if (!(isMoved && moves) && isWithOtherRoles(op)) {
      if (!isMoved && moves)
        return true;
      moves |= isMoved;
    }
  }
  return false;
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
    for (auto start : block.getOps<collective::StartOp>()) {
      if (mayBeBucketed(start))
        candidates[getKey(start)].push_back(start);
      else if (start.getKind() != collective::Kind::AllReduce)
        missed(start, "not in a bucket: only all_reduce is put into buckets");
    }
    for (auto &[key, starts] : candidates)
      if (starts.size() == 1 && candidates.size() > 1)
        missed(starts.front(), "shares no bucket: others differ in " + getDifferences(key, candidates));
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
        bool reorders = !bucket.empty() && wouldReorderExchanges(bucket.front(), start, dependents);
        if (!bucket.empty() && (full || reorders || dependents.contains(start))) {
          if (reorders)
            missed(start, "begins a new bucket: with the one before, an exchange with a server would move behind another one");
          else if (full)
            missed(start,
                   "begins a new bucket: with the " + bytesText(size) + " before it would exceed bytes_per_pack, " + bytesText(bound));
          else
            missed(start, "begins a new bucket: it depends on the result of the one before");
          merge(bucket, bound);
          bucket.clear();
          dependents.clear();
          size = 0;
        }
        bucket.push_back(start);
        size += bytes;
        for (Operation *op : getDependents(getWait(start)))
          dependents.insert(op);
      }
      merge(bucket, bound);
    }
  }

  void missed(collective::StartOp start, const Twine &reason) {
    remark::missed(start.getLoc(), decision(Stage::Bucket, "NotMerged", getOperation().getSymName()))
        << (collectiveText(start) + " " + reason).str();
  }

  /// In what `key` differs from all others, or else from the first other one.
  static std::string getDifferences(const BucketKey &key, const llvm::MapVector<BucketKey, SmallVector<collective::StartOp>> &candidates) {
    auto find = [&](bool fromAll) {
      SmallVector<std::string> names;
      auto compare = [&](StringRef name, auto get) {
        auto differs = [&](const auto &other) { return get(other.first) != get(key); };
        if (fromAll ? llvm::count_if(candidates, differs) + 1 == static_cast<int64_t>(candidates.size())
                    : llvm::any_of(candidates, differs))
          names.push_back(name.str());
      };
      compare("group", [](const BucketKey &k) { return std::get<0>(k); });
      compare("reduction", [](const BucketKey &k) { return std::get<2>(k); });
      compare("element type", [](const BucketKey &k) { return std::get<3>(k); });
      compare("bytes_per_pack", [](const BucketKey &k) { return std::get<4>(k); });
      return names;
    };
    SmallVector<std::string> names = find(/*fromAll=*/true);
    return listText(names.empty() ? find(/*fromAll=*/false) : names);
  }

  /// Replaces the collectives of `bucket` by one, where the last of them starts. What depends on the others moves behind its wait.
  void merge(ArrayRef<collective::StartOp> bucket, int64_t bound) {
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
    auto merged = collective::StartOp::create(builder, loc, collective::PendingType::get(builder.getContext(), results), last.getKindAttr(),
                                              last.getReductionAttr(), last.getGroupAttr(), IntegerAttr(), operands,
                                              /*sizes=*/ValueRange(), IntegerAttr(), last.getBytesPerPackAttr(),
                                              /*bounds=*/DenseI64ArrayAttr(), /*root=*/IntegerAttr());
    auto wait = collective::WaitOp::create(builder, loc, results, merged, operands);
    SmallVector<std::string> members = llvm::map_to_vector(operands, valueText);
    remark::passed(loc, decision(Stage::Bucket, "Bucket", getOperation().getSymName()))
        << (countText(bucket.size(), "collective") + " in one bucket, " + collectiveText(merged) +
            (bound > 0 ? ", within bytes_per_pack of " + bytesText(bound) : ", no bound given") + ": " + listText(members));

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

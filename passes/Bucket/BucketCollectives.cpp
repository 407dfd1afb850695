//===- BucketCollectives.cpp - Merge collectives into buckets -------------===//

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

/// Collectives may share a bucket only if their keys are equal.
using BucketKey = std::tuple<Attribute, int32_t, int32_t, Type, int64_t>;

BucketKey getKey(collective::StartOp start) {
  Type element = cast<RankedTensorType>(start.getInputs().front().getType())
                     .getElementType();
  return {start.getGroupAttr(), static_cast<int32_t>(start.getKind()),
          static_cast<int32_t>(start.getReduction()), element,
          start.getBytesPerPack()};
}

bool mayBeBucketed(collective::StartOp start) {
  if (!start.getKindProperties().canBeMerged || start.getInputs().empty() ||
      !start.getContributedBytes())
    return false;
  Type element = cast<RankedTensorType>(start.getInputs().front().getType())
                     .getElementType();
  return llvm::all_of(start.getInputs(), [&](Value operand) {
    return cast<RankedTensorType>(operand.getType()).getElementType() ==
           element;
  });
}

collective::WaitOp getWait(collective::StartOp start) {
  return cast<collective::WaitOp>(*start->user_begin());
}

/// Adds the operations of the block that depend on `root`, itself included, to
/// the `dependents` of others.
void addDependents(Operation *root, llvm::SetVector<Operation *> &dependents) {
  unsigned known = dependents.size();
  dependents.insert(root);
  for (unsigned i = known; i < dependents.size(); ++i)
    for (Operation *user : dependents[i]->getUsers())
      if (Operation *ancestor = root->getBlock()->findAncestorOpInBlock(*user))
        dependents.insert(ancestor);
}

/// Whether ranks of other roles than `role` take part in `op`, or in an
/// operation in it. Both sides must issue such exchanges in the same order.
bool isWithOtherRoles(Operation *op, device::RoleOp role,
                      SymbolTableCollection &symbols) {
  return op
      ->walk([&](CollectiveOpInterface collective) {
        auto name = collective->getAttrOfType<FlatSymbolRefAttr>("group");
        auto group = name
                         ? symbols.lookupNearestSymbolFrom<collective::GroupOp>(
                               collective, name)
                         : nullptr;
        if (!group)
          return WalkResult::advance();
        // A group without a list of ranks is that of all replicas, a role.
        int64_t first = role.getFirstRank(), end = first + role.getRanks();
        ArrayRef<int64_t> ranks =
            group.getRanks().value_or(ArrayRef<int64_t>());
        bool isOwn =
            !group.getWithReplicas() && llvm::all_of(ranks, [&](int64_t rank) {
              return first <= rank && rank < end;
            });
        return isOwn ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// A bucket while it is formed.
class Bucket {
public:
  Bucket(device::RoleOp role, SymbolTableCollection &symbols)
      : role(role), symbols(&symbols) {}

  bool isEmpty() const { return members.empty(); }
  int64_t getSize() const { return size; }
  ArrayRef<collective::StartOp> getMembers() const { return members; }
  bool isDependent(collective::StartOp start) const {
    return dependents.contains(start);
  }

  void add(collective::StartOp start, int64_t bytes) {
    members.push_back(start);
    size += bytes;
    addDependents(getWait(start), dependents);
    if (!next)
      next = start->getNextNode();
  }

  /// Whether making `start`, which is behind the members, a member would move
  /// an exchange with another role that depends on the members behind another
  /// such exchange. The other role may need the first to compute what it sends
  /// in the second, and would wait forever.
  bool wouldReorderExchanges(collective::StartOp start) {
    if (!role)
      return false;
    // Operations before `start` do not depend on members that are added later,
    // so each operation is visited once.
    for (; next != start; next = next->getNextNode()) {
      bool isMoved = dependents.contains(next);
      if (!(isMoved && moves) && isWithOtherRoles(next, role, *symbols)) {
        if (!isMoved && moves)
          return true;
        moves |= isMoved;
      }
    }
    return false;
  }

private:
  device::RoleOp role;
  SymbolTableCollection *symbols;
  SmallVector<collective::StartOp> members;
  llvm::SetVector<Operation *> dependents;
  int64_t size = 0;
  /// The first operation that has not been visited by `wouldReorderExchanges`.
  Operation *next = nullptr;
  /// Whether an exchange with another role that depends on the members has been
  /// found.
  bool moves = false;
};

struct BucketCollectives : impl::BucketCollectivesPassBase<BucketCollectives> {
  using BucketCollectivesPassBase::BucketCollectivesPassBase;

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    SymbolTableCollection symbols;
    for (Block *block : blocks)
      runOnBlock(*block, symbols);
  }

  void runOnBlock(Block &block, SymbolTableCollection &symbols) {
    device::RoleOp role = device::getRole(getOperation());
    llvm::MapVector<BucketKey, SmallVector<collective::StartOp>> candidates;
    for (auto start : block.getOps<collective::StartOp>()) {
      if (mayBeBucketed(start))
        candidates[getKey(start)].push_back(start);
      else if (!start.getKindProperties().canBeMerged)
        missed(start, "not in a bucket: only all_reduce is put into buckets");
    }
    for (auto &[key, starts] : candidates)
      if (starts.size() == 1 && candidates.size() > 1)
        missed(starts.front(), "shares no bucket: others differ in " +
                                   getDifferences(key, candidates));
    for (auto &[key, starts] : candidates) {
      // Merging buckets of other keys may have moved starts.
      llvm::sort(starts, [](Operation *a, Operation *b) {
        return a->isBeforeInBlock(b);
      });
      int64_t bound =
          std::get<int64_t>(key) != 0 ? std::get<int64_t>(key) : bytesPerPack;
      Bucket bucket(role, symbols);
      for (collective::StartOp start : starts) {
        int64_t bytes = *start.getContributedBytes();
        bool full = bound > 0 && bucket.getSize() + bytes > bound;
        bool reorders =
            !bucket.isEmpty() && bucket.wouldReorderExchanges(start);
        if (!bucket.isEmpty() &&
            (full || reorders || bucket.isDependent(start))) {
          if (reorders)
            missed(start,
                   "begins a new bucket: with the one before, an exchange with "
                   "a server would move behind another one");
          else if (full)
            missed(start, "begins a new bucket: with the " +
                              bytesText(bucket.getSize()) +
                              " before it would exceed bytes_per_pack, " +
                              bytesText(bound));
          else
            missed(start, "begins a new bucket: it depends on the result of "
                          "the one before");
          merge(bucket.getMembers(), bound);
          bucket = Bucket(role, symbols);
        }
        bucket.add(start, bytes);
      }
      merge(bucket.getMembers(), bound);
    }
  }

  void missed(collective::StartOp start, const Twine &reason) {
    remark::missed(start.getLoc(), decision(Stage::Bucket, "NotMerged",
                                            getOperation().getSymName()))
        << (collectiveText(start) + " " + reason).str();
  }

  /// The elements in which `key` differs from all others, or else from any
  /// other one.
  static std::string getDifferences(
      const BucketKey &key,
      const llvm::MapVector<BucketKey, SmallVector<collective::StartOp>>
          &candidates) {
    auto find = [&](bool fromAll) {
      SmallVector<std::string> names;
      auto compare = [&](StringRef name, auto get) {
        auto differs = [&](const auto &other) {
          return get(other.first) != get(key);
        };
        if (fromAll ? llvm::count_if(candidates, differs) + 1 ==
                          static_cast<int64_t>(candidates.size())
                    : llvm::any_of(candidates, differs))
          names.push_back(name.str());
      };
      compare("group", [](const BucketKey &k) { return std::get<0>(k); });
      compare("reduction", [](const BucketKey &k) { return std::get<2>(k); });
      compare("element type",
              [](const BucketKey &k) { return std::get<3>(k); });
      compare("bytes_per_pack",
              [](const BucketKey &k) { return std::get<4>(k); });
      return names;
    };
    SmallVector<std::string> names = find(/*fromAll=*/true);
    return listText(names.empty() ? find(/*fromAll=*/false) : names);
  }

  /// Replaces the collectives of `bucket` by one at the start of the last of
  /// them. Operations that depend on the others are moved behind its wait.
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
    auto merged = collective::StartOp::create(
        builder, loc,
        collective::PendingType::get(builder.getContext(), results),
        last.getKindAttr(), last.getReductionAttr(), last.getGroupAttr(),
        IntegerAttr(), operands,
        /*sizes=*/ValueRange(), IntegerAttr(), last.getBytesPerPackAttr(),
        /*bounds=*/DenseI64ArrayAttr(), /*root=*/IntegerAttr(),
        /*sources=*/DenseI64ArrayAttr());
    auto wait =
        collective::WaitOp::create(builder, loc, results, merged, operands);
    SmallVector<std::string> members = llvm::map_to_vector(operands, valueText);
    remark::passed(
        loc, decision(Stage::Bucket, "Bucket", getOperation().getSymName()))
        << (countText(bucket.size(), "collective") + " in one bucket, " +
            collectiveText(merged) +
            (bound > 0 ? ", within bytes_per_pack of " + bytesText(bound)
                       : ", no bound given") +
            ": " + listText(members));

    // Move all operations before the new wait that depend on a result behind
    // it, in the same order.
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
    llvm::sort(ordered, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    Operation *position = wait;
    for (Operation *op : ordered) {
      op->moveAfter(position);
      position = op;
    }

    unsigned offset = 0;
    for (collective::StartOp start : bucket) {
      collective::WaitOp old = getWait(start);
      old.replaceAllUsesWith(
          wait.getResults().slice(offset, old.getNumResults()));
      offset += old.getNumResults();
      old.erase();
      start.erase();
    }
  }
};
} // namespace
} // namespace lockstep

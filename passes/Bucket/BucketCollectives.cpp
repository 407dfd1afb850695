//===- BucketCollectives.cpp - Merge collectives into buckets -------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/ModuleTopology.h"
#include "passes/Analysis/ReadyTimes.h"
#include "passes/Bucket/MergeCollectives.h"
#include "passes/Bucket/RoleBucket.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_BUCKETCOLLECTIVESPASS
#include "passes/Passes.h.inc"

namespace {

/// Collectives may share a bucket only if their keys are equal.
/// Group, kind, reduction, element type, axis, and bytes_per_pack.
using BucketKey =
    std::tuple<Attribute, int32_t, int32_t, Type, int64_t, int64_t>;

BucketKey getKey(collective::StartOp start) {
  return {start.getGroupAttr(),
          static_cast<int32_t>(start.getKind()),
          static_cast<int32_t>(start.getReduction()),
          start.getElementType(),
          static_cast<int64_t>(start.getAxis().value_or(0)),
          start.getBytesPerPack()};
}

bool mayBeBucketed(collective::StartOp start) {
  return start.getKindProperties().canBeMerged && start.getElementType() &&
         start.getContributedBytes() && start.getSizes().empty();
}

struct BucketCollectives : impl::BucketCollectivesPassBase<BucketCollectives> {
  using BucketCollectivesPassBase::BucketCollectivesPassBase;

  void runOnOperation() override {
    module = getOperation()->getParentOfType<ModuleOp>();
    FailureOr<runtime::Topology> found = getTopology(module);
    if (failed(found))
      return signalPassFailure();
    topology = std::move(*found);
    if (plan) {
      FailureOr<int64_t> count = replica::getReplicaCount(module);
      if (failed(count))
        return signalPassFailure();
      replicas = *count;
    }
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
      else if (!start.getKindProperties().canBeMerged)
        missed(start, "not in a bucket: its kind is sent alone");
    }
    for (auto &[key, starts] : candidates)
      if (starts.size() == 1 && candidates.size() > 1)
        missed(starts.front(), "shares no bucket: others differ in " +
                                   getDifferences(key, candidates));
    for (auto &[key, starts] : candidates) {
      if (starts.size() < 2)
        continue;
      // Merging buckets of other keys may have moved starts.
      llvm::sort(starts, [](Operation *a, Operation *b) {
        return a->isBeforeInBlock(b);
      });
      int64_t ofUser = std::get<5>(key);
      int64_t bound = ofUser != 0 ? ofUser : bytesPerPack.getValue();
      std::string limit = bound > 0
                              ? "within bytes_per_pack of " + bytesText(bound)
                              : "no bound given";
      std::vector<size_t> ends = device::getRole(getOperation())
                                     ? keepOrderOfRoles(starts, bound)
                                     : divide(block, starts, bound, limit);
      SmallVector<ArrayRef<collective::StartOp>> buckets;
      size_t begin = 0;
      for (size_t end : ends) {
        if (end - begin > 1)
          buckets.push_back(ArrayRef(starts).slice(begin, end - begin));
        begin = end;
      }
      merge(block, buckets, limit);
    }
  }

  /// The part of a collective's latency by which the exchange may end later if
  /// that saves a collective.
  static constexpr double kSlack = 0.1;

  /// The ends of the buckets for collectives of replicas, which are all in the
  /// same order. Sets `limit` if it is not the user's.
  std::vector<size_t> divide(Block &block,
                             MutableArrayRef<collective::StartOp> starts,
                             int64_t bound, std::string &limit) {
    std::vector<runtime::BucketMember> members = findDependences(block, starts);
    for (auto [start, member] : llvm::zip_equal(starts, members))
      member.bytes = *start.getContributedBytes();
    if (!plan || topology.reducesOnCompute) {
      // Nothing hides behind kernels, and each collective costs its latency;
      // but what reads the result finds it in the cache of a core if it fits.
      bool ofCache = plan && (bound == 0 || static_cast<uint64_t>(bound) >
                                                topology.cacheBytes);
      if (ofCache) {
        bound = static_cast<int64_t>(topology.cacheBytes);
        limit = "within the cache of a core, " + bytesText(bound);
      }
      runtime::BucketPlan filled = runtime::fillBuckets(
          members, runtime::TransferTime({{}}), uint64_t(bound));
      explainEnds(starts, members, filled.ends,
                  (ofCache ? "the cache of a core, " : "bytes_per_pack, ") +
                      bytesText(bound));
      return std::move(filled.ends);
    }
    SymbolTableCollection symbols;
    OperationTimes times(topology, replicas, symbols);
    ReadyTimes ready(block, times);
    for (auto [start, member] : llvm::zip_equal(starts, members))
      member.ready = ready.of(start);
    // All members have one element type.
    int64_t widening = getTransferWidening(starts.front());
    for (runtime::BucketMember &member : members)
      member.bytes *= widening;
    uint64_t mostBytes = static_cast<uint64_t>(bound * widening);
    runtime::TransferTime time =
        runtime::transferTime(topology, starts.front().getKindProperties().kind,
                              times.membersOf(starts.front()));
    double slack = time.seconds(0) * kSlack;
    if (std::vector<double> needs = findNeeds(starts, members, ready);
        !needs.empty())
      return planByNeed(starts, members, needs, time, mostBytes, slack);
    std::vector<runtime::BucketMember> separated =
        separateNeeded(block, starts, members, ready, time);
    runtime::BucketPlan best =
        runtime::planBuckets(separated, time, mostBytes, slack);
    explainPlan(starts, members, separated, time, best);
    return std::move(best.ends);
  }

  /// The collectives of a block on whose results another one depends.
  static llvm::DenseSet<Operation *> findNeededByCollectives(Block &block) {
    llvm::DenseSet<Operation *> needed, collectives;
    for (Operation &op : llvm::reverse(block)) {
      auto start = dyn_cast<collective::StartOp>(op);
      if (start && needed.contains(getWait(start)))
        collectives.insert(start);
      if (!start && !needed.contains(&op))
        continue;
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *producer = operand.getDefiningOp())
            if (Operation *ancestor = block.findAncestorOpInBlock(*producer))
              needed.insert(ancestor);
      });
    }
    return collectives;
  }

  /// The members, with those that are ready too late kept out of the buckets of
  /// members on which another collective depends: the plan takes the times at
  /// which members are ready as given, but such a bucket would delay them.
  static std::vector<runtime::BucketMember>
  separateNeeded(Block &block, ArrayRef<collective::StartOp> starts,
                 std::vector<runtime::BucketMember> members,
                 const ReadyTimes &ready, const runtime::TransferTime &time) {
    llvm::DenseSet<Operation *> needed = findNeededByCollectives(block);
    std::vector<uint64_t> sums = {0};
    for (const runtime::BucketMember &member : members)
      sums.push_back(sums.back() + member.bytes);
    size_t first = 0;
    std::vector<size_t> firstOf(members.size() + 1);
    for (auto [i, start] : llvm::enumerate(starts)) {
      if (!needed.contains(start))
        continue;
      // A collective less is worth its latency.
      double latest =
          std::max(ready.readAt(start),
                   members[i].ready + time.seconds(members[i].bytes)) +
          time.seconds(0);
      auto others = llvm::seq(i + 1, members.size());
      size_t late = *llvm::partition_point(others, [&](size_t j) {
        return members[j].ready + time.seconds(sums[j + 1] - sums[i]) <= latest;
      });
      firstOf[late] = i + 1;
    }
    for (size_t j = 0; j < members.size(); ++j) {
      first = std::max(first, firstOf[j]);
      members[j].first = std::max(members[j].first, first);
    }
    return members;
  }

  /// If all members are ready at the same time, as are gathers at the beginning
  /// of a step, and their results are needed one after the other: when each is,
  /// in seconds of kernels from then on. Otherwise nothing.
  static std::vector<double> findNeeds(ArrayRef<collective::StartOp> starts,
                                       ArrayRef<runtime::BucketMember> members,
                                       const ReadyTimes &ready) {
    if (members.front().ready != members.back().ready ||
        members.back().first != 0)
      return {};
    std::vector<double> needs;
    for (collective::StartOp start : starts)
      needs.push_back(
          std::max(0.0, ready.neededAt(start) - members.front().ready));
    return llvm::is_sorted(needs) && needs.front() < needs.back()
               ? needs
               : std::vector<double>();
  }

  /// The division by which kernels wait least for results that they need one
  /// after the other. Backwards in time, that is the division whose exchange
  /// ends first: a result that is needed `t` before the last one is ready at
  /// `t`.
  std::vector<size_t> planByNeed(MutableArrayRef<collective::StartOp> starts,
                                 ArrayRef<runtime::BucketMember> members,
                                 ArrayRef<double> needs,
                                 const runtime::TransferTime &time,
                                 uint64_t mostBytes, double slack) {
    std::vector<runtime::BucketMember> backwards;
    for (size_t i = members.size(); i-- > 0;)
      backwards.push_back({needs.back() - needs[i], members[i].bytes, 0});
    runtime::BucketPlan best =
        runtime::planBuckets(backwards, time, mostBytes, slack);
    std::vector<size_t> ends;
    for (size_t end : llvm::reverse(ArrayRef(best.ends).drop_back()))
      ends.push_back(members.size() - end);
    ends.push_back(members.size());
    explainNeeds(starts, members, needs, time, ends, best.end - needs.back(),
                 runtime::leastEnd(backwards, time) - needs.back());
    return ends;
  }

  /// Members in the order of the block, each with the first one that may share
  /// its bucket: none on whose result it depends, and none before a barrier or
  /// the load of another batch.
  static std::vector<runtime::BucketMember>
  findDependences(Block &block, ArrayRef<collective::StartOp> starts) {
    llvm::DenseMap<Operation *, size_t> startIndex, waitIndex;
    for (auto [i, start] : llvm::enumerate(starts)) {
      startIndex[start] = i;
      waitIndex[getWait(start)] = i;
    }
    std::vector<runtime::BucketMember> members(starts.size());
    // For each operation, the number of members up to the last one on whose
    // result it depends.
    llvm::DenseMap<Operation *, size_t> after;
    size_t first = 0, seen = 0;
    for (Operation &op : block) {
      size_t latest = 0;
      bool isFence = false;
      op.walk([&](Operation *inner) {
        isFence |= isa<device::LoadBatchOp, collective::BarrierOp>(inner);
        for (Value operand : inner->getOperands())
          if (Operation *producer = operand.getDefiningOp())
            if (auto it = after.find(producer); it != after.end())
              latest = std::max(latest, it->second);
      });
      if (auto it = waitIndex.find(&op); it != waitIndex.end())
        latest = std::max(latest, it->second + 1);
      if (latest)
        after[&op] = latest;
      // What depends on a member is moved behind its bucket, but neither a load
      // of a batch nor a barrier may move behind another one.
      if (isFence)
        first = seen;
      if (auto it = startIndex.find(&op); it != startIndex.end()) {
        first = std::max(first, latest);
        members[it->second].first = first;
        seen = it->second + 1;
      }
    }
    return members;
  }

  /// The ends of the buckets in a function of one of several roles.
  std::vector<size_t>
  keepOrderOfRoles(MutableArrayRef<collective::StartOp> starts, int64_t bound) {
    device::RoleOp role = device::getRole(getOperation());
    SymbolTableCollection symbols;
    RoleBucket bucket(role, symbols);
    std::vector<runtime::BucketMember> members =
        findDependences(*starts.front()->getBlock(), starts);
    std::vector<size_t> ends;
    size_t begin = 0;
    int64_t size = 0;
    for (auto [i, start] : llvm::enumerate(starts)) {
      int64_t bytes = *start.getContributedBytes();
      bool reorders = bucket.wouldReorderExchanges(start);
      bool isFull = bound > 0 && size + bytes > bound;
      if (i > begin && (reorders || isFull || members[i].first > begin)) {
        if (reorders)
          missed(start,
                 "begins a new bucket: with the one before, an exchange with "
                 "a server would move behind another one");
        else
          explainEnd(start, size, members[i].first > begin,
                     "bytes_per_pack, " + bytesText(bound));
        ends.push_back(i);
        begin = i;
        size = 0;
        bucket = RoleBucket(role, symbols);
      }
      bucket.add(start);
      size += bytes;
    }
    ends.push_back(starts.size());
    return ends;
  }

  void merge(Block &block, ArrayRef<ArrayRef<collective::StartOp>> buckets,
             const std::string &limit) {
    SmallVector<size_t> counts = llvm::map_to_vector(
        buckets, [](ArrayRef<collective::StartOp> b) { return b.size(); });
    for (auto [merged, count] :
         llvm::zip_equal(mergeCollectives(block, buckets), counts))
      remark::passed(merged.getLoc(), decision(Stage::Bucket, "Bucket",
                                               getOperation().getSymName()))
          << (countText(count, "collective") + " in one bucket, " +
              collectiveText(merged) + ", " + limit + ": " +
              listText(merged.getInputs().size(), [&](size_t i) {
                return valueText(merged.getInputs()[i]);
              }));
  }

  //===--------------------------------------------------------------------===//
  // Remarks
  //===--------------------------------------------------------------------===//

  void missed(collective::StartOp start, const Twine &reason) {
    remark::missed(start.getLoc(), decision(Stage::Bucket, "NotMerged",
                                            getOperation().getSymName()))
        << (collectiveText(start) + " " + reason).str();
  }

  /// Why the bucket before `start`, of `size` bytes, ends there; `limit` is
  /// what it would exceed.
  void explainEnd(collective::StartOp start, int64_t size, bool isDependent,
                  const std::string &limit) {
    if (isDependent)
      missed(start, "begins a new bucket: it depends on the result of the one "
                    "before, or on a barrier or batch between them");
    else
      missed(start, "begins a new bucket: with the " + bytesText(size) +
                        " before it would exceed " + limit);
  }

  static int64_t sumBytes(ArrayRef<runtime::BucketMember> members) {
    int64_t bytes = 0;
    for (const runtime::BucketMember &member : members)
      bytes += member.bytes;
    return bytes;
  }

  void explainEnds(MutableArrayRef<collective::StartOp> starts,
                   ArrayRef<runtime::BucketMember> members,
                   ArrayRef<size_t> ends, const std::string &limit) {
    size_t begin = 0;
    for (size_t end : ends.drop_back()) {
      int64_t size = sumBytes(members.slice(begin, end - begin));
      bool isDependent = members[end].first > begin;
      explainEnd(starts[end], size, isDependent, limit);
      begin = end;
    }
  }

  /// Reports what the model expects of the plan, and why each bucket ends.
  void explainPlan(MutableArrayRef<collective::StartOp> starts,
                   ArrayRef<runtime::BucketMember> members,
                   ArrayRef<runtime::BucketMember> separated,
                   const runtime::TransferTime &time,
                   const runtime::BucketPlan &best) {
    StringRef function = getOperation().getSymName();
    double least = runtime::leastEnd(members, time);
    int64_t bytes = sumBytes(members);
    remark::analysis(starts.front().getLoc(),
                     decision(Stage::Bucket, "Plan", function))
        << (countText(starts.size(), "collective") + ", " + bytesText(bytes) +
            " on the link, in " + countText(best.ends.size(), "bucket") +
            " for '" + topology.name + "': operands are ready from " +
            secondsText(members.front().ready) + " to " +
            secondsText(members.back().ready) + ", the exchange ends at " +
            secondsText(best.end) + "; no plan ends before " +
            secondsText(least));
    size_t begin = 0;
    double linkFree = 0;
    for (size_t end : best.ends) {
      int64_t size = sumBytes(members.slice(begin, end - begin));
      double ready = members[end - 1].ready,
             startTime = std::max(ready, linkFree);
      linkFree = startTime + time.seconds(size);
      if (end < starts.size()) {
        std::string reason =
            members[end].first > begin
                ? "it depends on the result of the one before, or on a barrier "
                  "or batch between them"
            : separated[end].first > begin
                ? "it is ready at " + secondsText(members[end].ready) +
                      ", and another collective depends on what is before it"
                : "it is ready at " + secondsText(members[end].ready) +
                      ", and the " + bytesText(size) +
                      " before it are sent from " + secondsText(startTime) +
                      " to " + secondsText(linkFree);
        missed(starts[end], "begins a new bucket: " + reason);
      }
      begin = end;
    }
  }

  /// The same for a plan by the times at which results are needed; `delay` is
  /// how long kernels wait, and `least` how long for any plan.
  void explainNeeds(MutableArrayRef<collective::StartOp> starts,
                    ArrayRef<runtime::BucketMember> members,
                    ArrayRef<double> needs, const runtime::TransferTime &time,
                    ArrayRef<size_t> ends, double delay, double least) {
    int64_t bytes = sumBytes(members);
    remark::analysis(
        starts.front().getLoc(),
        decision(Stage::Bucket, "Plan", getOperation().getSymName()))
        << (countText(starts.size(), "collective") + ", " + bytesText(bytes) +
            " on the link, in " + countText(ends.size(), "bucket") + " for '" +
            topology.name +
            "': all are ready at the same time, and needed after " +
            secondsText(needs.front()) + " to " + secondsText(needs.back()) +
            " of kernels, which wait " + secondsText(std::max(0.0, delay)) +
            " for them; no plan makes them wait less than " +
            secondsText(std::max(0.0, least)));
    size_t begin = 0;
    double arrival = 0;
    for (size_t end : ends.drop_back()) {
      int64_t size = sumBytes(members.slice(begin, end - begin));
      arrival += time.seconds(size);
      missed(starts[end], "begins a new bucket: kernels need the " +
                              bytesText(size) + " before it, which arrive at " +
                              secondsText(arrival) + ", earlier");
      begin = end;
    }
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
      compare("kind", [](const BucketKey &k) { return std::get<1>(k); });
      compare("reduction", [](const BucketKey &k) { return std::get<2>(k); });
      compare("element type",
              [](const BucketKey &k) { return std::get<3>(k); });
      compare("axis", [](const BucketKey &k) { return std::get<4>(k); });
      compare("bytes_per_pack",
              [](const BucketKey &k) { return std::get<5>(k); });
      return names;
    };
    SmallVector<std::string> names = find(/*fromAll=*/true);
    return listText(names.empty() ? find(/*fromAll=*/false) : names);
  }

  ModuleOp module;
  runtime::Topology topology;
  int64_t replicas = 0;
};
} // namespace
} // namespace lockstep

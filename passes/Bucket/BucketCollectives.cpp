//===- BucketCollectives.cpp - Merge collectives into buckets -------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/ModuleTopology.h"
#include "passes/Bucket/BucketMembers.h"
#include "passes/Bucket/MergeCollectives.h"
#include "passes/Bucket/RoleBucket.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"
#include "runtime/model/SharedLinkPlan.h"

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
    bool isRole = device::getRole(getOperation()) != nullptr;
    if (plan && !isRole && !topology.reducesOnCompute)
      return planOnLink(block, candidates);
    for (auto &[key, starts] : candidates) {
      if (starts.size() < 2)
        continue;
      // Merging buckets of other keys may have moved starts.
      llvm::sort(starts, [](Operation *a, Operation *b) {
        return a->isBeforeInBlock(b);
      });
      int64_t bound = getBound(key);
      std::string limit = boundText(bound);
      std::vector<size_t> ends = isRole ? keepOrderOfRoles(starts, bound)
                                        : fill(block, starts, bound, limit);
      merge(block, getBuckets(starts, ends), limit);
    }
  }

  int64_t getBound(const BucketKey &key) {
    int64_t ofUser = std::get<5>(key);
    return ofUser != 0 ? ofUser : bytesPerPack.getValue();
  }

  static std::string boundText(int64_t bound) {
    return bound > 0 ? "within bytes_per_pack of " + bytesText(bound)
                     : "no bound given";
  }

  using Buckets = SmallVector<SmallVector<collective::StartOp>>;

  /// The buckets with several collectives.
  static Buckets getBuckets(ArrayRef<collective::StartOp> starts,
                            ArrayRef<size_t> ends) {
    Buckets buckets;
    size_t begin = 0;
    for (size_t end : ends) {
      if (end - begin > 1)
        buckets.emplace_back(starts.slice(begin, end - begin));
      begin = end;
    }
    return buckets;
  }

  /// The ends of the buckets where nothing hides behind kernels, and each
  /// collective costs its latency; but what reads the result finds it in the
  /// cache of a core if it fits. Sets `limit` if it is not the user's.
  std::vector<size_t> fill(Block &block,
                           MutableArrayRef<collective::StartOp> starts,
                           int64_t bound, std::string &limit) {
    std::vector<runtime::BucketMember> members = findDependences(block, starts);
    for (auto [start, member] : llvm::zip_equal(starts, members))
      member.bytes = *start.getContributedBytes();
    bool ofCache = plan && (bound == 0 ||
                            static_cast<uint64_t>(bound) > topology.cacheBytes);
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

  /// The part of a collective's latency by which the exchange may end later if
  /// that saves a collective.
  static constexpr double kSlack = 0.1;

  /// The collectives of one key, for a link that works beside kernels.
  struct KeyPlan {
    SmallVector<collective::StartOp> starts;
    int64_t bound = 0;
    /// As the block was when they were modelled; `traffic` has them with those
    /// apart that must not wait for each other.
    std::vector<runtime::BucketMember> members;
    runtime::LinkTraffic traffic;
    /// When their results are needed, if that decides (`findNeeds`).
    std::vector<double> needs;

    double getSlack() const { return traffic.time.seconds(0) * kSlack; }
  };

  /// Divides and merges the collectives of all keys of a block.
  void
  planOnLink(Block &block,
             const llvm::MapVector<BucketKey, SmallVector<collective::StartOp>>
                 &candidates) {
    if (llvm::none_of(candidates,
                      [](const auto &key) { return key.second.size() > 1; }))
      return;
    std::vector<KeyPlan> keys(candidates.size());
    for (auto [key, entry] : llvm::zip_equal(keys, candidates)) {
      key.bound = getBound(entry.first);
      key.starts = entry.second;
    }
    model(block, keys);
    // Those that are needed one after the other are not those that are ready
    // one after the other.
    std::vector<runtime::LinkTraffic> traffic;
    double slack = 0;
    for (const KeyPlan &key : keys) {
      if (!key.needs.empty())
        continue;
      traffic.push_back(key.traffic);
      slack = std::max(slack, key.getSlack());
    }
    runtime::SharedLinkPlan best;
    double least = 0;
    if (!traffic.empty()) {
      best = runtime::planSharedLink(traffic, slack);
      least = runtime::leastEnd(traffic);
    }
    size_t planned = 0, others = 0;
    for (const KeyPlan &key : keys)
      others += key.needs.empty() ? key.starts.size() : 0;
    bool isMerged = false;
    for (KeyPlan &key : keys) {
      ArrayRef<runtime::SharedLinkPlan::Bucket> ofKey;
      if (key.needs.empty())
        ofKey = best.buckets[planned++];
      if (key.starts.size() < 2)
        continue;
      NeedPlan byNeed;
      if (key.needs.empty())
        for (const runtime::SharedLinkPlan::Bucket &bucket : ofKey)
          byNeed.ends.push_back(bucket.end);
      else
        byNeed = planByNeed(key);
      Buckets buckets = getBuckets(key.starts, byNeed.ends);
      // Merging collectives of other keys has moved what depends on them.
      if (isMerged && !buckets.empty() && !mayBeMerged(block, buckets)) {
        planAlone(block, key);
        continue;
      }
      if (key.needs.empty())
        explainPlan(key, ofKey, others - key.starts.size(), best.end, least);
      else
        explainNeeds(key, byNeed);
      isMerged |= !buckets.empty();
      merge(block, buckets, boundText(key.bound));
    }
  }

  /// Divides and merges the collectives of one key in the block as it is.
  void planAlone(Block &block, KeyPlan &key) {
    llvm::sort(key.starts, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    model(block, key);
    std::vector<size_t> ends;
    if (!key.needs.empty()) {
      NeedPlan byNeed = planByNeed(key);
      explainNeeds(key, byNeed);
      ends = std::move(byNeed.ends);
    } else {
      runtime::SharedLinkPlan best =
          runtime::planSharedLink({&key.traffic, 1}, key.getSlack());
      for (const runtime::SharedLinkPlan::Bucket &bucket : best.buckets.front())
        ends.push_back(bucket.end);
      explainPlan(key, best.buckets.front(), 0, best.end,
                  runtime::leastEnd(key.members, key.traffic.time));
    }
    merge(block, getBuckets(key.starts, ends), boundText(key.bound));
  }

  /// Estimates what the collectives of each key exchange, and when.
  void model(Block &block, MutableArrayRef<KeyPlan> keys) {
    SymbolTableCollection symbols;
    OperationTimes times(topology, replicas, symbols);
    ReadyTimes ready(block, times);
    llvm::DenseSet<Operation *> needed = findNeededByCollectives(block);
    for (KeyPlan &key : keys) {
      collective::StartOp first = key.starts.front();
      // All members have one element type.
      int64_t widening = getTransferWidening(first);
      if (key.starts.size() > 1)
        key.members = findDependences(block, key.starts);
      else
        key.members.resize(1);
      for (auto [start, member] : llvm::zip_equal(key.starts, key.members)) {
        member.ready = ready.of(start);
        member.bytes = *start.getContributedBytes() * widening;
      }
      key.traffic.time = runtime::transferTime(
          topology, first.getKindProperties().kind, times.membersOf(first));
      key.traffic.mostBytes = static_cast<uint64_t>(key.bound * widening);
      key.needs = findNeeds(key.starts, key.members, ready);
      key.traffic.members = separateNeeded(needed, key.starts, key.members,
                                           ready, key.traffic.time);
    }
  }

  struct NeedPlan {
    std::vector<size_t> ends;
    /// How long kernels wait for results, in seconds; and for any plan.
    double delay = 0, least = 0;
  };

  /// The division by which kernels wait least for results that they need one
  /// after the other. Backwards in time, that is the division whose exchange
  /// ends first: a result that is needed `t` before the last one is ready at
  /// `t`.
  NeedPlan planByNeed(const KeyPlan &key) {
    const runtime::TransferTime &time = key.traffic.time;
    std::vector<runtime::BucketMember> backwards;
    for (size_t i = key.members.size(); i-- > 0;)
      backwards.push_back(
          {key.needs.back() - key.needs[i], key.members[i].bytes, 0});
    runtime::BucketPlan best = runtime::planBuckets(
        backwards, time, key.traffic.mostBytes, key.getSlack());
    NeedPlan plan{{},
                  best.end - key.needs.back(),
                  runtime::leastEnd(backwards, time) - key.needs.back()};
    for (size_t end : llvm::reverse(ArrayRef(best.ends).drop_back()))
      plan.ends.push_back(key.members.size() - end);
    plan.ends.push_back(key.members.size());
    return plan;
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

  void merge(Block &block, const Buckets &buckets, const std::string &limit) {
    SmallVector<ArrayRef<collective::StartOp>> toMerge(buckets.begin(),
                                                       buckets.end());
    SmallVector<collective::StartOp> results = mergeCollectives(block, toMerge);
    for (auto [merged, bucket] : llvm::zip_equal(results, buckets))
      remark::passed(merged.getLoc(), decision(Stage::Bucket, "Bucket",
                                               getOperation().getSymName()))
          << (countText(bucket.size(), "collective") + " in one bucket, " +
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

  void explainEnds(ArrayRef<collective::StartOp> starts,
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

  /// Reports what the model expects of the plan, and why each bucket of `key`
  /// ends. `others` is the number of collectives of other keys, with which the
  /// exchange ends at `end`, and in no plan before `least`.
  void explainPlan(KeyPlan &key,
                   ArrayRef<runtime::SharedLinkPlan::Bucket> buckets,
                   size_t others, double end, double least) {
    ArrayRef<runtime::BucketMember> members = key.members;
    remark::analysis(
        key.starts.front().getLoc(),
        decision(Stage::Bucket, "Plan", getOperation().getSymName()))
        << (countText(key.starts.size(), "collective") + ", " +
            bytesText(sumBytes(members)) + " on the link, in " +
            countText(buckets.size(), "bucket") + " for '" + topology.name +
            "': operands are ready from " + secondsText(members.front().ready) +
            " to " + secondsText(members.back().ready) + ", the exchange" +
            (others ? ", with " + countText(others, "collective") +
                          " of other keys,"
                    : "") +
            " ends at " + secondsText(end) + "; no plan ends before " +
            secondsText(least));
    size_t begin = 0;
    for (const runtime::SharedLinkPlan::Bucket &bucket : buckets.drop_back()) {
      size_t next = bucket.end;
      std::string isReady =
          "it is ready at " + secondsText(members[next].ready);
      std::string reason =
          members[next].first > begin
              ? "it depends on the result of the one before, or on a barrier "
                "or batch between them"
          : key.traffic.members[next].first > begin
              ? isReady +
                    ", and another collective depends on what is before it"
              : isReady + ", and the " +
                    bytesText(sumBytes(members.slice(begin, next - begin))) +
                    " before it are sent from " + secondsText(bucket.from) +
                    " to " + secondsText(bucket.until);
      missed(key.starts[next], "begins a new bucket: " + reason);
      begin = next;
    }
  }

  /// The same for a plan by the times at which results are needed.
  void explainNeeds(const KeyPlan &key, const NeedPlan &plan) {
    ArrayRef<runtime::BucketMember> members = key.members;
    collective::StartOp first = key.starts.front();
    remark::analysis(first.getLoc(), decision(Stage::Bucket, "Plan",
                                              getOperation().getSymName()))
        << (countText(key.starts.size(), "collective") + ", " +
            bytesText(sumBytes(members)) + " on the link, in " +
            countText(plan.ends.size(), "bucket") + " for '" + topology.name +
            "': all are ready at the same time, and needed after " +
            secondsText(key.needs.front()) + " to " +
            secondsText(key.needs.back()) + " of kernels, which wait " +
            secondsText(std::max(0.0, plan.delay)) +
            " for them; no plan makes them wait less than " +
            secondsText(std::max(0.0, plan.least)));
    size_t begin = 0;
    double arrival = 0;
    for (size_t end : ArrayRef(plan.ends).drop_back()) {
      int64_t size = sumBytes(members.slice(begin, end - begin));
      arrival += key.traffic.time.seconds(size);
      missed(key.starts[end], "begins a new bucket: kernels need the " +
                                  bytesText(size) +
                                  " before it, which arrive at " +
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

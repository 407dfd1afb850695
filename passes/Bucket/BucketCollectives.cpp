//===- BucketCollectives.cpp - Merge collectives into buckets -------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/ModuleTopology.h"
#include "passes/Bucket/BucketMembers.h"
#include "passes/Bucket/ExchangeModel.h"
#include "passes/Bucket/MergeCollectives.h"
#include "passes/Bucket/RoleBucket.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_BUCKETCOLLECTIVESPASS
#include "passes/Passes.h.inc"

namespace {

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
    for (auto start : block.getOps<collective::StartOp>())
      if (!start.getKindProperties().canBeMerged)
        missed(start, "not in a bucket: its kind is sent alone");
    BucketCandidates candidates = findBucketCandidates(block);
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
      int64_t bound = getBucketBound(key, bytesPerPack);
      std::string limit = boundText(bound);
      std::vector<size_t> ends = isRole ? keepOrderOfRoles(starts, bound)
                                        : fill(block, starts, bound, limit);
      merge(block, getBuckets(starts, ends), limit);
    }
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

  /// Divides and merges the collectives of all keys of a block.
  void planOnLink(Block &block, const BucketCandidates &candidates) {
    if (llvm::none_of(candidates,
                      [](const auto &key) { return key.second.size() > 1; }))
      return;
    std::vector<KeyTraffic> keys = listTraffic(candidates, bytesPerPack);
    model(block, keys);
    // Those that are needed one after the other are not those that are ready
    // one after the other.
    ExchangePlan best = planExchange(keys, topology.streams);
    size_t planned = 0, others = 0;
    for (const KeyTraffic &key : keys)
      others += key.needs.empty() ? key.starts.size() : 0;
    bool isMerged = false;
    for (KeyTraffic &key : keys) {
      ArrayRef<runtime::SharedLinkPlan::Bucket> ofKey;
      if (key.needs.empty())
        ofKey = best.plan.buckets[planned++];
      if (key.starts.size() < 2)
        continue;
      NeedPlan byNeed;
      if (!key.needs.empty())
        byNeed = planByNeed(key, topology.streams);
      Buckets buckets =
          getBuckets(key.starts, key.needs.empty() ? getEnds(ofKey)
                                                   : getEnds(byNeed.buckets));
      // Merging collectives of other keys has moved what depends on them.
      if (isMerged && !buckets.empty() && !mayBeMerged(block, buckets)) {
        planAlone(block, key);
        continue;
      }
      if (key.needs.empty())
        explainPlan(key, ofKey, others - key.starts.size(), best.plan.end,
                    best.least);
      else
        explainNeeds(key, byNeed);
      isMerged |= !buckets.empty();
      merge(block, buckets, boundText(key.bound));
    }
  }

  /// Divides and merges the collectives of one key in the block as it is.
  void planAlone(Block &block, KeyTraffic &key) {
    llvm::sort(key.starts, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    model(block, key);
    std::vector<size_t> ends;
    if (!key.needs.empty()) {
      NeedPlan byNeed = planByNeed(key, topology.streams);
      explainNeeds(key, byNeed);
      ends = getEnds(byNeed.buckets);
    } else {
      ExchangePlan best = planExchange(key, topology.streams);
      ends = getEnds(best.plan.buckets.front());
      explainPlan(key, best.plan.buckets.front(), 0, best.plan.end, best.least);
    }
    merge(block, getBuckets(key.starts, ends), boundText(key.bound));
  }

  void model(Block &block, MutableArrayRef<KeyTraffic> keys) {
    SymbolTableCollection symbols;
    OperationTimes times(topology, replicas, symbols);
    modelExchange(block, ReadyTimes(block, times), times, keys);
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
          explainEnd(starts.slice(begin, i - begin), start, size,
                     members[i].first > begin,
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

  /// Why `start` cannot share the bucket of the collectives before it.
  static std::string whyDependent(ArrayRef<collective::StartOp> before,
                                  collective::StartOp start) {
    Attribute gradient = start->getAttr(collective::kLastPieceOf);
    bool hasPiece =
        gradient && llvm::any_of(before, [&](collective::StartOp other) {
          return other->getAttr(collective::kLastPieceOf) == gradient;
        });
    return hasPiece
               ? "the one before has another piece of the same gradient"
               : "it depends on the result of the one before, or on a barrier "
                 "or batch between them";
  }

  /// Why the bucket before `start`, with the collectives `before` of `size`
  /// bytes, ends there; `limit` is what it would exceed.
  void explainEnd(ArrayRef<collective::StartOp> before,
                  collective::StartOp start, int64_t size, bool isDependent,
                  const std::string &limit) {
    if (isDependent)
      missed(start, "begins a new bucket: " + whyDependent(before, start));
    else
      missed(start, "begins a new bucket: with the " + bytesText(size) +
                        " before it would exceed " + limit);
  }

  void explainEnds(ArrayRef<collective::StartOp> starts,
                   ArrayRef<runtime::BucketMember> members,
                   ArrayRef<size_t> ends, const std::string &limit) {
    size_t begin = 0;
    for (size_t end : ends.drop_back()) {
      int64_t size = sumBytes(members.slice(begin, end - begin));
      bool isDependent = members[end].first > begin;
      explainEnd(starts.slice(begin, end - begin), starts[end], size,
                 isDependent, limit);
      begin = end;
    }
  }

  /// Reports what the model expects of the plan, and why each bucket of `key`
  /// ends. `others` is the number of collectives of other keys, with which the
  /// exchange ends at `end`, and in no plan before `least`.
  void explainPlan(KeyTraffic &key,
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
              ? whyDependent(ArrayRef(key.starts).slice(begin, next - begin),
                             key.starts[next])
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
  void explainNeeds(const KeyTraffic &key, const NeedPlan &plan) {
    ArrayRef<runtime::BucketMember> members = key.members;
    collective::StartOp first = key.starts.front();
    remark::analysis(first.getLoc(), decision(Stage::Bucket, "Plan",
                                              getOperation().getSymName()))
        << (countText(key.starts.size(), "collective") + ", " +
            bytesText(sumBytes(members)) + " on the link, in " +
            countText(plan.buckets.size(), "bucket") + " for '" +
            topology.name +
            "': all are ready at the same time, and needed after " +
            secondsText(key.needs.front()) + " to " +
            secondsText(key.needs.back()) + " of kernels, which wait " +
            secondsText(plan.delay) +
            " for them; no plan makes them wait less than " +
            secondsText(std::max(0.0, plan.least)));
    size_t begin = 0;
    for (auto [end, arrival] : ArrayRef(plan.buckets).drop_back()) {
      int64_t size = sumBytes(members.slice(begin, end - begin));
      missed(key.starts[end], "begins a new bucket: kernels need the " +
                                  bytesText(size) +
                                  " before it, which arrive at " +
                                  secondsText(arrival) + ", earlier");
      begin = end;
    }
  }

  /// The elements in which `key` differs from all others, or else from any
  /// other one.
  static std::string getDifferences(const BucketKey &key,
                                    const BucketCandidates &candidates) {
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

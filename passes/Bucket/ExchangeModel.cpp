//===- ExchangeModel.cpp - What the collectives of a block send -----------===//

#include "passes/Bucket/ExchangeModel.h"

#include "passes/Bucket/BucketMembers.h"

using namespace mlir;
using namespace lockstep;

static BucketKey getKey(collective::StartOp start) {
  return {start.getGroupAttr(),
          static_cast<int32_t>(start.getKind()),
          static_cast<int32_t>(start.getReduction()),
          start.getElementType(),
          static_cast<int64_t>(start.getAxis().value_or(0)),
          start.getBytesPerPack()};
}

static bool mayBeBucketed(collective::StartOp start) {
  return start.getKindProperties().canBeMerged && start.getElementType() &&
         start.getContributedBytes() && start.getSizes().empty();
}

int64_t lockstep::getBucketBound(const BucketKey &key, int64_t bytesPerPack) {
  int64_t ofUser = std::get<5>(key);
  return ofUser != 0 ? ofUser : bytesPerPack;
}

BucketCandidates lockstep::findBucketCandidates(Block &block) {
  BucketCandidates candidates;
  for (auto start : block.getOps<collective::StartOp>())
    if (mayBeBucketed(start))
      candidates[getKey(start)].push_back(start);
  return candidates;
}

std::vector<KeyTraffic>
lockstep::listTraffic(const BucketCandidates &candidates,
                      int64_t bytesPerPack) {
  std::vector<KeyTraffic> keys(candidates.size());
  for (auto [key, entry] : llvm::zip_equal(keys, candidates)) {
    key.bound = getBucketBound(entry.first, bytesPerPack);
    key.starts = entry.second;
  }
  return keys;
}

void lockstep::modelExchange(Block &block, const ReadyTimes &ready,
                             OperationTimes &times,
                             MutableArrayRef<KeyTraffic> keys) {
  llvm::DenseSet<Operation *> needed = findNeededByCollectives(block);
  for (KeyTraffic &key : keys) {
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
    key.traffic.time = times.transferTimeOf(first);
    key.traffic.mostBytes = static_cast<uint64_t>(key.bound * widening);
    key.needs = findNeeds(key.starts, key.members, ready);
    key.traffic.members = separateNeeded(needed, key.starts, key.members, ready,
                                         key.traffic.time);
  }
}

uint64_t lockstep::sumBytes(ArrayRef<runtime::BucketMember> members) {
  uint64_t bytes = 0;
  for (const runtime::BucketMember &member : members)
    bytes += member.bytes;
  return bytes;
}

ExchangePlan lockstep::planExchange(ArrayRef<KeyTraffic> keys,
                                    uint64_t streams) {
  std::vector<runtime::LinkTraffic> traffic;
  double slack = 0;
  for (const KeyTraffic &key : keys) {
    if (!key.needs.empty())
      continue;
    traffic.push_back(key.traffic);
    slack = std::max(slack, key.getSlack());
  }
  if (traffic.empty())
    return {};
  return {runtime::planSharedLink(traffic, slack, streams),
          runtime::leastEnd(traffic, streams)};
}

NeedPlan lockstep::planByNeed(const KeyTraffic &key, uint64_t streams) {
  runtime::LinkTraffic backwards{{}, key.traffic.time, key.traffic.mostBytes};
  double last = key.needs.back();
  for (size_t i = key.members.size(); i-- > 0;)
    backwards.members.push_back({last - key.needs[i], key.members[i].bytes, 0});
  runtime::SharedLinkPlan best =
      runtime::planSharedLink({&backwards, 1}, key.getSlack(), streams);
  NeedPlan plan;
  plan.least = runtime::leastEnd({&backwards, 1}, streams) - last;
  runtime::LinkTimeline link(streams);
  auto addBucket = [&](size_t end) {
    size_t begin = plan.buckets.empty() ? 0 : plan.buckets.back().end;
    uint64_t bytes = sumBytes(ArrayRef(key.members).slice(begin, end - begin));
    double arrival = link.carry(0, key.traffic.time.split(bytes)).end;
    plan.buckets.push_back({end, arrival});
    plan.delay = std::max(plan.delay, arrival - key.needs[begin]);
  };
  for (const auto &bucket :
       llvm::reverse(ArrayRef(best.buckets.front()).drop_back()))
    addBucket(key.members.size() - bucket.end);
  addBucket(key.members.size());
  return plan;
}

//===- BucketMembers.cpp - What may share a bucket ------------------------===//

#include "passes/Bucket/BucketMembers.h"

#include "dialect/Device/DeviceDialect.h"
#include "passes/Bucket/MergeCollectives.h"

using namespace mlir;
using namespace lockstep;

std::vector<runtime::BucketMember>
lockstep::findDependences(Block &block, ArrayRef<collective::StartOp> starts) {
  llvm::DenseMap<Operation *, size_t> startIndex, waitIndex;
  for (auto [i, start] : llvm::enumerate(starts)) {
    startIndex[start] = i;
    waitIndex[getWait(start)] = i;
  }
  std::vector<runtime::BucketMember> members(starts.size());
  // For each operation, the number of members up to the last one on whose
  // result it depends.
  llvm::DenseMap<Operation *, size_t> after;
  // For each gradient that is exchanged in pieces, the number of members up to
  // the last piece so far, of those that are kept apart.
  llvm::DenseMap<Attribute, size_t> afterPiece;
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
      seen = it->second + 1;
      if (Attribute piece = op.getAttr(collective::kLastPieceOf)) {
        size_t &last = afterPiece[piece];
        first = std::max(first, last);
        last = seen;
      }
      members[it->second].first = first;
    }
  }
  return members;
}

bool lockstep::mayBeMerged(
    Block &block, MutableArrayRef<SmallVector<collective::StartOp>> buckets) {
  auto isBefore = [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  };
  SmallVector<collective::StartOp> starts;
  for (SmallVector<collective::StartOp> &bucket : buckets) {
    llvm::sort(bucket, isBefore);
    llvm::append_range(starts, bucket);
  }
  llvm::sort(starts, isBefore);
  std::vector<runtime::BucketMember> members = findDependences(block, starts);
  llvm::DenseMap<Operation *, size_t> indices;
  for (auto [i, start] : llvm::enumerate(starts))
    indices[start] = i;
  return llvm::all_of(buckets, [&](ArrayRef<collective::StartOp> bucket) {
    return members[indices[bucket.back()]].first <= indices[bucket.front()];
  });
}

llvm::DenseSet<Operation *> lockstep::findNeededByCollectives(Block &block) {
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

std::vector<runtime::BucketMember>
lockstep::separateNeeded(const llvm::DenseSet<Operation *> &needed,
                         ArrayRef<collective::StartOp> starts,
                         std::vector<runtime::BucketMember> members,
                         const ReadyTimes &ready,
                         const runtime::TransferTime &time) {
  std::vector<uint64_t> sums = {0};
  for (const runtime::BucketMember &member : members)
    sums.push_back(sums.back() + member.bytes);
  size_t first = 0;
  std::vector<size_t> firstOf(members.size() + 1);
  for (auto [i, start] : llvm::enumerate(starts)) {
    if (!needed.contains(start))
      continue;
    // A collective less is worth its latency, also with several streams, on
    // which it may cost less.
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

std::vector<double> lockstep::findNeeds(ArrayRef<collective::StartOp> starts,
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

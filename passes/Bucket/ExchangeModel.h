//===- ExchangeModel.h - What the collectives of a block send ---*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_BUCKET_EXCHANGEMODEL_H
#define LOCKSTEP_PASSES_BUCKET_EXCHANGEMODEL_H

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Analysis/ReadyTimes.h"
#include "runtime/model/SharedLinkPlan.h"

#include "llvm/ADT/MapVector.h"

namespace lockstep {

/// Collectives may share a bucket only if their keys are equal.
/// Group, kind, reduction, element type, axis, and bytes_per_pack.
using BucketKey =
    std::tuple<mlir::Attribute, int32_t, int32_t, mlir::Type, int64_t, int64_t>;

/// The most bytes of a bucket of several collectives; 0: no bound.
/// `bytesPerPack` is that of keys to which the program gives none.
int64_t getBucketBound(const BucketKey &key, int64_t bytesPerPack);

/// The collectives of a block that may share a bucket, by key, in the order of
/// the block.
using BucketCandidates =
    llvm::MapVector<BucketKey, llvm::SmallVector<collective::StartOp>>;

BucketCandidates findBucketCandidates(mlir::Block &block);

/// The part of a collective's latency by which the exchange may end later if
/// that saves a collective, or keeps kernels where they are.
inline constexpr double kSlack = 0.1;

/// The collectives of one key, for a link that works beside kernels.
struct KeyTraffic {
  llvm::SmallVector<collective::StartOp> starts;
  /// `getBucketBound`.
  int64_t bound = 0;
  /// As the block was when they were modelled; `traffic` has them with those
  /// apart that must not wait for each other.
  std::vector<runtime::BucketMember> members;
  runtime::LinkTraffic traffic;
  /// When their results are needed, if that decides (`findNeeds`).
  std::vector<double> needs;

  /// In seconds.
  double getSlack() const { return traffic.time.seconds(0) * kSlack; }
};

/// The traffic of each key, without times; `bytesPerPack` as for
/// `getBucketBound`.
std::vector<KeyTraffic> listTraffic(const BucketCandidates &candidates,
                                    int64_t bytesPerPack);

/// Estimates what the collectives of each key exchange, and when, in the block
/// as it is. `ready` has the times of the block.
void modelExchange(mlir::Block &block, const ReadyTimes &ready,
                   OperationTimes &times,
                   llvm::MutableArrayRef<KeyTraffic> keys);

/// The plan of all keys for which it matters when members are ready, not when
/// they are needed. Their buckets are those of `plan`, in order.
struct ExchangePlan {
  runtime::SharedLinkPlan plan;
  /// No division ends earlier, in seconds.
  double least = 0;
};
ExchangePlan planExchange(llvm::ArrayRef<KeyTraffic> keys, uint64_t streams);

/// The plan of a key whose results are needed one after the other.
struct NeedPlan {
  struct Bucket {
    /// The index behind its last member.
    size_t end;
    /// When the link has carried it, in seconds after the first one begins.
    double arrival;
  };
  std::vector<Bucket> buckets;
  /// How long kernels wait for results, in seconds; and for any plan.
  double delay = 0, least = 0;
};

/// The division by which kernels wait least for results that they need one
/// after the other. Backwards in time, that is the division whose exchange ends
/// first: a result that is needed `t` before the last one is ready at `t`.
NeedPlan planByNeed(const KeyTraffic &key, uint64_t streams);

/// The bytes of members that share a bucket.
uint64_t sumBytes(llvm::ArrayRef<runtime::BucketMember> members);

/// For each bucket of a plan, the index behind its last member.
template <typename Buckets>
std::vector<size_t> getEnds(const Buckets &buckets) {
  std::vector<size_t> ends;
  for (const auto &bucket : buckets)
    ends.push_back(bucket.end);
  return ends;
}

} // namespace lockstep

#endif

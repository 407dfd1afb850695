//===- SharedLinkPlan.h - merging collectives of several keys ---*- C++ -*-===//
//
// Collectives may share a bucket only if their keys are equal, but those of all
// keys share the link. Planned one key after the other, each plan takes the
// link as its own: it sends small buckets early, whose latencies delay the
// buckets of other keys. Here the plans of all keys are chosen together.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_MODEL_SHAREDLINKPLAN_H
#define LOCKSTEP_RUNTIME_MODEL_SHAREDLINKPLAN_H

#include "runtime/model/BucketPlan.h"

namespace lockstep::runtime {

/// What is exchanged with one key.
struct LinkTraffic {
  /// In ascending order of `ready`.
  std::vector<BucketMember> members;
  TransferTime time{std::vector<TransferTime::Piece>(1)};
  /// A bucket of several members has at most that many bytes; 0: no bound.
  uint64_t mostBytes = 0;
};

struct SharedLinkPlan {
  struct Bucket {
    /// The index behind its last member.
    size_t end;
    /// When the link transfers it, in seconds after the start of the step.
    double from, until;
  };
  /// For each key, its buckets in order.
  std::vector<std::vector<Bucket>> buckets;
  /// When the last bucket of all keys has been exchanged.
  double end = 0;
};

/// The plan that ends first, if the link transfers buckets in the order in
/// which they are ready. As in `planBuckets`, neighbors of one key are merged
/// where the exchange then ends at most `slack` seconds later. For n
/// members of one key it takes n log n time. For several keys, it considers as
/// many buckets as the product of their numbers of members, times their sum.
/// Where that exceeds `mostBuckets`, members of the longer keys are planned in
/// groups of neighbors, and the plan is the best one only among those of
/// groups, and no worse than if each key is planned alone.
///
/// With several `streams` (LinkTimeline.h), no exact method is used. Plans are
/// made as if each bucket occupied the link for a part of its latency. Of those
/// that end at most `slack` after the earliest, the one with the least mean
/// arrival of a byte, plus `slack` for each bucket, is taken.
SharedLinkPlan planSharedLink(std::span<const LinkTraffic> traffic,
                              double slack = 0, uint64_t streams = 1,
                              double mostBuckets = 1 << 24);

/// When the link transfers given buckets; `ends` has those of each key.
SharedLinkPlan transferBuckets(std::span<const LinkTraffic> traffic,
                               std::span<const std::vector<size_t>> ends,
                               uint64_t streams = 1);

/// What no plan can beat: the link has to carry all members that are ready at
/// or after a time, in one bucket at least of each of their keys. With several
/// streams, only the latency of one key is sure to delay them.
double leastEnd(std::span<const LinkTraffic> traffic, uint64_t streams = 1);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_MODEL_SHAREDLINKPLAN_H

//===- BucketPlan.h - optimal merging of collectives ------------*- C++ -*-===//
//
// When to exchange the gradients of a step, and which of them together. One
// link carries one collective at a time; a collective of b bytes takes
// T(b) = α + β b, piecewise. Sent alone, each gradient pays α; sent together,
// all wait for the last one. The plan with the earliest end is found exactly.
//
// Problem: S. Shi, X. Chu, B. Li, "MG-WFBP: Merging Gradients Wisely for
// Efficient Communication in Distributed Deep Learning", arXiv 1912.09268,
// section 4. The solution here is a dynamic program over the ready order.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_MODEL_BUCKETPLAN_H
#define LOCKSTEP_RUNTIME_MODEL_BUCKETPLAN_H

#include "runtime/collectives/LinkTimeline.h"

#include <span>
#include <vector>

namespace lockstep::runtime {

/// The time that a collective occupies the link, over its bytes: a list of
/// affine pieces.
class TransferTime {
public:
  struct Piece {
    /// The first number of bytes for which the piece holds.
    uint64_t fromBytes = 0;
    double seconds = 0;
    double secondsPerByte = 0;
  };

  /// `pieces` are in ascending order of `fromBytes`; the first begins at 0.
  explicit TransferTime(std::vector<Piece> pieces);

  std::span<const Piece> getPieces() const { return pieces; }
  /// The number of bytes at which piece `index` ends; the largest integer for
  /// the last one.
  uint64_t endOf(size_t index) const;
  double seconds(uint64_t bytes) const;
  /// The same as latency and time of the bytes.
  TransferSeconds split(uint64_t bytes) const {
    return TransferSeconds::split(seconds(bytes), seconds(0));
  }
  /// A line that rises, and below which no time is for at most `mostBytes`:
  /// what a collective costs at least, and each of its bytes.
  Piece lowerBound(uint64_t mostBytes) const;

private:
  std::vector<Piece> pieces;
};

/// A tensor that is exchanged.
struct BucketMember {
  /// Seconds after the start of the step at which its value is computed.
  double ready = 0;
  uint64_t bytes = 0;
  /// The index of the first member that may be in the same bucket: this member
  /// depends on a result of the member before that one. At most its own index,
  /// and ascending.
  size_t first = 0;
};

/// Members are divided into buckets of consecutive ones.
struct BucketPlan {
  /// For each bucket, the index behind its last member.
  std::vector<size_t> ends;
  /// Seconds after the start of the step at which the last bucket is
  /// exchanged.
  double end = 0;
};

/// A bucket that takes longer than this many collectives without bytes gains
/// less than 1 % if it is merged, but its first bytes wait for the last.
inline constexpr double kWorthMerging = 100;

/// The plan that ends first, for members in ascending order of `ready`.
/// Neighboring buckets are merged where the exchange then ends at most `slack`
/// seconds later: collectives cost a replica more than the model counts. Those
/// that take more than `kWorthMerging` latencies are not, so that the link
/// transfers what is ready: the estimates may be wrong. A bucket of several
/// members has at most `mostBytes`; 0: no bound. Takes n log n time for n
/// members.
BucketPlan planBuckets(std::span<const BucketMember> members,
                       const TransferTime &time, uint64_t mostBytes = 0,
                       double slack = 0);

/// The buckets that result if members are added until one more would exceed
/// `mostBytes`; 0: no bound.
BucketPlan fillBuckets(std::span<const BucketMember> members,
                       const TransferTime &time, uint64_t mostBytes);

/// The end of the exchange for given buckets.
double endOfPlan(std::span<const BucketMember> members,
                 const TransferTime &time, std::span<const size_t> ends);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_MODEL_BUCKETPLAN_H

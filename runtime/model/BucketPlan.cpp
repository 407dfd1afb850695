//===- BucketPlan.cpp -----------------------------------------------------===//

#include "runtime/model/BucketPlan.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>
#include <queue>
#include <set>

namespace lockstep::runtime {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// The smallest of a range of values that change.
class RangeMinimum {
public:
  explicit RangeMinimum(size_t count) : leaves(1) {
    while (leaves < count)
      leaves *= 2;
    best.assign(2 * leaves, {kNever, 0});
  }

  void set(size_t index, double value) {
    size_t node = leaves + index;
    best[node] = {value, index};
    for (node /= 2; node > 0; node /= 2)
      best[node] = std::min(best[2 * node], best[2 * node + 1]);
  }

  /// The smallest value at an index in [first, end), and the index; infinity
  /// if there is none.
  std::pair<double, size_t> in(size_t first, size_t end) const {
    std::pair<double, size_t> result = {kNever, 0};
    for (size_t l = leaves + first, r = leaves + end; l < r; l /= 2, r /= 2) {
      if (l % 2)
        result = std::min(result, best[l++]);
      if (r % 2)
        result = std::min(result, best[--r]);
    }
    return result;
  }

private:
  size_t leaves;
  std::vector<std::pair<double, size_t>> best;
};

/// Let E(j) be the earliest end of the exchange of the first j members, r(j)
/// the time at which the last of them is ready, and S(j) their bytes. If the
/// last bucket begins behind member i,
///
///   E(j) = min over i of max(E(i), r(j)) + α + β (S(j) - S(i)).
///
/// Where E(i) <= r(j), the link is free when the bucket is ready, and the
/// largest such i is best. Otherwise the i with the least E(i) - β S(i) is
/// best. As r ascends, an i changes from the second case to the first once.
/// Each piece of the transfer time restricts i to a range.
class Planner {
public:
  Planner(std::span<const BucketMember> members, const TransferTime &time,
          uint64_t mostBytes)
      : members(members), time(time), mostBytes(mostBytes),
        ends(members.size() + 1, kNever), previous(members.size() + 1),
        sums(members.size() + 1) {
    for (size_t i = 0; i < members.size(); ++i)
      sums[i + 1] = sums[i] + members[i].bytes;
    waiting.assign(time.getPieces().size(), RangeMinimum(members.size() + 1));
  }

  BucketPlan run(double slack) {
    setEnd(0, 0);
    for (size_t j = 1; j <= members.size(); ++j) {
      double ready = members[j - 1].ready;
      while (!byEnd.empty() && byEnd.top().first <= ready) {
        size_t i = byEnd.top().second;
        byEnd.pop();
        free.insert(i);
        for (RangeMinimum &ofPiece : waiting)
          ofPiece.set(i, kNever);
      }
      auto [end, i] = bestPredecessor(j, ready);
      previous[j] = i;
      setEnd(j, end);
    }
    BucketPlan plan;
    plan.end = ends.back();
    for (size_t j = members.size(); j > 0; j = previous[j])
      plan.ends.push_back(j);
    std::reverse(plan.ends.begin(), plan.ends.end());
    mergeNeighbors(plan, slack);
    return plan;
  }

private:
  /// Makes E(j) known.
  void setEnd(size_t j, double end) {
    ends[j] = end;
    byEnd.push({end, j});
    for (size_t piece = 0; piece < waiting.size(); ++piece)
      waiting[piece].set(j, end - time.getPieces()[piece].secondsPerByte *
                                      double(sums[j]));
  }

  std::pair<double, size_t> bestPredecessor(size_t j, double ready) const {
    std::pair<double, size_t> best = {kNever, 0};
    // With one member, a bucket is allowed whatever its bytes.
    size_t first = members[j - 1].first;
    if (mostBytes)
      first = std::max(first, indexOfSum(j, mostBytes));
    first = std::min(first, j - 1);
    for (size_t piece = 0; piece < waiting.size(); ++piece) {
      // The bucket has from `fromBytes` to less than `endOf` bytes.
      uint64_t fromBytes = time.getPieces()[piece].fromBytes;
      size_t begin = std::max(first, indexOfSum(j, time.endOf(piece) - 1));
      size_t end = fromBytes ? indexOfSum(j, fromBytes - 1) : j;
      end = std::min(end, j);
      if (begin >= end)
        continue;
      auto consider = [&](size_t i) {
        double end = std::max(ends[i], ready) + time.seconds(sums[j] - sums[i]);
        best = std::min(best, {end, i});
      };
      if (auto after = free.lower_bound(end);
          after != free.begin() && *std::prev(after) >= begin)
        consider(*std::prev(after));
      if (auto [value, i] = waiting[piece].in(begin, end); value < kNever)
        consider(i);
    }
    return best;
  }

  /// The smallest i such that members i to j have at most `bytes`.
  size_t indexOfSum(size_t j, uint64_t bytes) const {
    if (bytes >= sums[j])
      return 0;
    return size_t(std::lower_bound(sums.begin(), sums.begin() + ptrdiff_t(j),
                                   sums[j] - bytes) -
                  sums.begin());
  }

  /// Merges neighboring buckets as long as that is worth it and the last one
  /// ends at most `slack` later.
  void mergeNeighbors(BucketPlan &plan, double slack) const {
    // The latest end of each bucket.
    std::vector<double> latest(plan.ends.size());
    double deadline = plan.end + slack;
    for (size_t b = plan.ends.size(); b-- > 0;) {
      latest[b] = deadline;
      deadline -= time.seconds(bytesOf(plan.ends, b));
    }
    std::vector<size_t> merged;
    size_t begin = 0;
    double busyUntil = 0;
    for (size_t b = 0; b < plan.ends.size(); ++b) {
      size_t end = plan.ends[b];
      if (b + 1 < plan.ends.size()) {
        size_t next = plan.ends[b + 1];
        uint64_t bytes = sums[next] - sums[begin];
        double nextEnd =
            std::max(busyUntil, members[next - 1].ready) + time.seconds(bytes);
        if (members[next - 1].first <= begin &&
            (!mostBytes || bytes <= mostBytes) && nextEnd <= latest[b + 1] &&
            time.seconds(sums[end] - sums[begin]) <
                kWorthMerging * time.seconds(0))
          continue;
      }
      busyUntil = std::max(busyUntil, members[end - 1].ready) +
                  time.seconds(sums[end] - sums[begin]);
      merged.push_back(end);
      begin = end;
    }
    plan.ends = std::move(merged);
    plan.end = endOfPlan(members, time, plan.ends);
  }

  uint64_t bytesOf(std::span<const size_t> bucketEnds, size_t bucket) const {
    return sums[bucketEnds[bucket]] -
           (bucket ? sums[bucketEnds[bucket - 1]] : 0);
  }

  using EndOf = std::pair<double, size_t>;

  std::span<const BucketMember> members;
  const TransferTime &time;
  uint64_t mostBytes;
  /// E, the i of its minimum, and S.
  std::vector<double> ends;
  std::vector<size_t> previous;
  std::vector<uint64_t> sums;
  /// The i with E(i) <= r(j); the others by E, and for each piece, by
  /// E(i) - β S(i).
  std::set<size_t> free;
  std::priority_queue<EndOf, std::vector<EndOf>, std::greater<>> byEnd;
  std::vector<RangeMinimum> waiting;
};

} // namespace

TransferTime::TransferTime(std::vector<Piece> pieces)
    : pieces(std::move(pieces)) {
  assert(!this->pieces.empty() && this->pieces.front().fromBytes == 0 &&
         "the pieces cover all sizes");
}

uint64_t TransferTime::endOf(size_t index) const {
  return index + 1 < pieces.size() ? pieces[index + 1].fromBytes
                                   : std::numeric_limits<uint64_t>::max();
}

double TransferTime::seconds(uint64_t bytes) const {
  auto next = std::upper_bound(
      pieces.begin(), pieces.end(), bytes,
      [](uint64_t b, const Piece &piece) { return b < piece.fromBytes; });
  const Piece &piece = *std::prev(next);
  return piece.seconds + piece.secondsPerByte * double(bytes);
}

TransferTime::Piece TransferTime::lowerBound(uint64_t mostBytes) const {
  // Of the lines through the time without bytes, the steepest one.
  Piece line = pieces.front();
  for (size_t i = 0; i < pieces.size(); ++i) {
    uint64_t first = std::max<uint64_t>(1, pieces[i].fromBytes);
    if (first > mostBytes)
      break;
    // Within a piece, the slope to a point of it rises or falls.
    for (uint64_t bytes :
         {first, std::max(first, std::min(mostBytes, endOf(i) - 1))})
      line.secondsPerByte = std::min(
          line.secondsPerByte, (seconds(bytes) - line.seconds) / double(bytes));
  }
  if (line.secondsPerByte < 0) {
    line.seconds += line.secondsPerByte * double(mostBytes);
    line.secondsPerByte = 0;
  }
  return line;
}

BucketPlan planBuckets(std::span<const BucketMember> members,
                       const TransferTime &time, uint64_t mostBytes,
                       double slack) {
  return Planner(members, time, mostBytes).run(slack);
}

BucketPlan fillBuckets(std::span<const BucketMember> members,
                       const TransferTime &time, uint64_t mostBytes) {
  BucketPlan plan;
  uint64_t bytes = 0;
  for (size_t i = 0, begin = 0; i < members.size(); ++i) {
    if (i > begin && ((mostBytes && bytes + members[i].bytes > mostBytes) ||
                      members[i].first > begin)) {
      plan.ends.push_back(i);
      begin = i;
      bytes = 0;
    }
    bytes += members[i].bytes;
  }
  if (!members.empty())
    plan.ends.push_back(members.size());
  plan.end = endOfPlan(members, time, plan.ends);
  return plan;
}

double endOfPlan(std::span<const BucketMember> members,
                 const TransferTime &time, std::span<const size_t> ends) {
  double end = 0;
  size_t begin = 0;
  for (size_t bucketEnd : ends) {
    uint64_t bytes = 0;
    double ready = 0;
    for (; begin < bucketEnd; ++begin) {
      bytes += members[begin].bytes;
      ready = std::max(ready, members[begin].ready);
    }
    end = std::max(end, ready) + time.seconds(bytes);
  }
  return end;
}

} // namespace lockstep::runtime

//===- SharedLinkPlan.cpp -------------------------------------------------===//

#include "runtime/model/SharedLinkPlan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace lockstep::runtime {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// Divides the members of a key into about `count` groups of neighbors that may
/// share a bucket, of about equal bytes. Returns the index behind each group.
std::vector<size_t> groupNeighbors(const LinkTraffic &key, size_t count) {
  uint64_t total = 0, bytes = 0;
  for (const BucketMember &member : key.members)
    total += member.bytes;
  std::vector<size_t> ends;
  size_t begin = 0;
  for (size_t i = 0; i < key.members.size(); ++i) {
    uint64_t next = key.members[i].bytes;
    bool isFull = double(bytes + next) * double(count) > double(total) ||
                  (key.mostBytes && bytes + next > key.mostBytes);
    if (i > begin && (isFull || key.members[i].first > begin)) {
      ends.push_back(i);
      begin = i;
      bytes = 0;
    }
    bytes += next;
  }
  ends.push_back(key.members.size());
  return ends;
}

/// The members of a key in groups, each as one member.
LinkTraffic makeGroups(const LinkTraffic &key, std::span<const size_t> ends) {
  LinkTraffic groups{{}, key.time, key.mostBytes};
  size_t begin = 0;
  for (size_t end : ends) {
    BucketMember group;
    group.ready = key.members[end - 1].ready;
    for (size_t i = begin; i < end; ++i)
      group.bytes += key.members[i].bytes;
    // The first group that begins at or behind the first allowed member.
    if (size_t first = key.members[end - 1].first)
      group.first = size_t(std::lower_bound(ends.begin(), ends.end(), first) -
                           ends.begin()) +
                    1;
    groups.members.push_back(group);
    begin = end;
  }
  return groups;
}

/// Let E(i1, ..., iK) be the earliest end of the exchange of the first ik
/// members of each key k, in any order. If the last bucket has members behind
/// the i-th of key k,
///
///   E(.., ik, ..) = min over k and i < ik of
///                   max(E(.., i, ..), rk(ik)) + Tk(Sk(ik) - Sk(i)).
///
/// No order ends before that in which buckets are ready.
class SharedLinkPlanner {
public:
  explicit SharedLinkPlanner(std::span<const LinkTraffic> keys) : keys(keys) {
    size_t states = 1;
    for (const LinkTraffic &key : keys) {
      strides.push_back(states);
      states *= key.members.size() + 1;
      sums.emplace_back(1, 0);
      for (const BucketMember &member : key.members)
        sums.back().push_back(sums.back().back() + member.bytes);
    }
    ends.assign(states, kUnknown);
    ends[0] = 0;
    previous.resize(states);
  }

  /// For each key, the ends of its buckets.
  std::vector<std::vector<size_t>> run() {
    std::vector<size_t> counts(keys.size(), 0);
    for (size_t state = 1; state < ends.size(); ++state) {
      // The counts of the next state.
      for (size_t k = 0; ++counts[k] > keys[k].members.size(); ++k)
        counts[k] = 0;
      for (size_t k = 0; k < keys.size(); ++k)
        if (counts[k] > 0)
          endWith(state, k, counts[k]);
    }
    std::vector<std::vector<size_t>> result(keys.size());
    for (size_t k = 0; k < keys.size(); ++k)
      counts[k] = keys[k].members.size();
    for (size_t state = ends.size() - 1; state > 0;) {
      auto [k, count] = previous[state];
      result[k].push_back(counts[k]);
      state -= count * strides[k];
      counts[k] -= count;
    }
    for (std::vector<size_t> &ofKey : result)
      std::reverse(ofKey.begin(), ofKey.end());
    return result;
  }

private:
  /// Considers the last bucket of `state` to be one of key `k`, the first
  /// `count` of whose members have been sent.
  void endWith(size_t state, size_t k, size_t count) {
    const LinkTraffic &key = keys[k];
    const BucketMember &last = key.members[count - 1];
    size_t first = std::min(last.first, count - 1);
    for (size_t i = count; i-- > first;) {
      uint64_t bytes = sums[k][count] - sums[k][i];
      // With one member, a bucket is allowed whatever its bytes.
      if (key.mostBytes && bytes > key.mostBytes && i + 1 < count)
        break;
      size_t members = count - i;
      double end = std::max(ends[state - members * strides[k]], last.ready) +
                   key.time.seconds(bytes);
      if (end < ends[state]) {
        ends[state] = end;
        previous[state] = {k, members};
      }
    }
  }

  std::span<const LinkTraffic> keys;
  std::vector<size_t> strides;
  std::vector<std::vector<uint64_t>> sums;
  /// E, and for its minimum the key and number of members of the last bucket.
  std::vector<double> ends;
  std::vector<std::pair<size_t, size_t>> previous;
};

uint64_t bytesOf(const LinkTraffic &key, size_t begin, size_t end) {
  uint64_t bytes = 0;
  for (size_t i = begin; i < end; ++i)
    bytes += key.members[i].bytes;
  return bytes;
}

/// Merges neighboring buckets of a key, the earliest first, as long as the
/// exchange of all ends at `deadline`.
void mergeNeighbors(std::span<const LinkTraffic> keys,
                    std::vector<std::vector<size_t>> &ends, double deadline) {
  for (size_t k = 0; k < keys.size(); ++k) {
    const LinkTraffic &key = keys[k];
    size_t begin = 0;
    for (size_t b = 0; b + 1 < ends[k].size();) {
      size_t end = ends[k][b], next = ends[k][b + 1];
      if (key.members[next - 1].first <= begin &&
          (!key.mostBytes || bytesOf(key, begin, next) <= key.mostBytes) &&
          key.time.seconds(bytesOf(key, begin, end)) <
              kWorthMerging * key.time.seconds(0)) {
        std::vector<size_t> divided = ends[k];
        ends[k].erase(ends[k].begin() + ptrdiff_t(b));
        if (transferBuckets(keys, ends).end <= deadline)
          continue;
        ends[k] = std::move(divided);
      }
      begin = end;
      ++b;
    }
  }
}

} // namespace

SharedLinkPlan planSharedLink(std::span<const LinkTraffic> traffic,
                              double slack, size_t mostStates) {
  if (traffic.size() == 1) {
    const LinkTraffic &key = traffic.front();
    std::vector<size_t> ends[] = {
        planBuckets(key.members, key.time, key.mostBytes, slack).ends};
    return transferBuckets(traffic, ends);
  }
  // With at most this many groups a key, the states are few enough.
  size_t most = 1;
  for (const LinkTraffic &key : traffic)
    most = std::max(most, key.members.size());
  auto countStates = [&] {
    double states = 1;
    for (const LinkTraffic &key : traffic)
      states *= double(std::min(key.members.size(), most) + 1);
    return states;
  };
  while (most > 1 && countStates() > double(mostStates))
    most -= std::max<size_t>(1, most / 16);

  std::vector<LinkTraffic> grouped;
  std::vector<std::vector<size_t>> groups, alone;
  double states = 1;
  bool isGrouped = false;
  for (const LinkTraffic &key : traffic) {
    std::vector<size_t> ends(key.members.size());
    std::iota(ends.begin(), ends.end(), size_t(1));
    if (key.members.size() > most) {
      ends = groupNeighbors(key, most);
      isGrouped = true;
    }
    grouped.push_back(makeGroups(key, ends));
    states *= double(ends.size() + 1);
    groups.push_back(std::move(ends));
    alone.push_back(planBuckets(key.members, key.time, key.mostBytes).ends);
  }
  std::vector<std::vector<size_t>> ends;
  // Dependences and bounds can make more groups than wanted.
  if (states <= 8 * double(mostStates)) {
    ends = SharedLinkPlanner(grouped).run();
    for (size_t k = 0; k < ends.size(); ++k)
      for (size_t &end : ends[k])
        end = groups[k][end - 1];
  }
  if (ends.empty() || (isGrouped && transferBuckets(traffic, alone).end <
                                        transferBuckets(traffic, ends).end))
    ends = std::move(alone);
  mergeNeighbors(traffic, ends, transferBuckets(traffic, ends).end + slack);
  return transferBuckets(traffic, ends);
}

SharedLinkPlan transferBuckets(std::span<const LinkTraffic> traffic,
                               std::span<const std::vector<size_t>> ends) {
  struct Ready {
    double ready, seconds;
    size_t key, bucket;
  };
  std::vector<Ready> order;
  SharedLinkPlan plan;
  plan.buckets.resize(traffic.size());
  for (size_t k = 0; k < traffic.size(); ++k) {
    size_t begin = 0;
    for (size_t end : ends[k]) {
      order.push_back({traffic[k].members[end - 1].ready,
                       traffic[k].time.seconds(bytesOf(traffic[k], begin, end)),
                       k, plan.buckets[k].size()});
      plan.buckets[k].push_back({end, 0, 0});
      begin = end;
    }
  }
  std::sort(order.begin(), order.end(), [](const Ready &a, const Ready &b) {
    return std::tie(a.ready, a.key, a.bucket) <
           std::tie(b.ready, b.key, b.bucket);
  });
  for (const Ready &next : order) {
    SharedLinkPlan::Bucket &bucket = plan.buckets[next.key][next.bucket];
    bucket.from = std::max(plan.end, next.ready);
    bucket.until = bucket.from + next.seconds;
    plan.end = bucket.until;
  }
  return plan;
}

double leastEnd(std::span<const LinkTraffic> traffic) {
  struct Arrival {
    double ready, seconds;
    size_t key;
  };
  std::vector<Arrival> arrivals;
  std::vector<double> fixed;
  for (const LinkTraffic &key : traffic) {
    double perByte = kUnknown, ofKey = kUnknown;
    for (const TransferTime::Piece &piece : key.time.getPieces()) {
      perByte = std::min(perByte, piece.secondsPerByte);
      ofKey = std::min(ofKey, piece.seconds);
    }
    for (const BucketMember &member : key.members)
      arrivals.push_back(
          {member.ready, perByte * double(member.bytes), fixed.size()});
    fixed.push_back(ofKey);
  }
  std::sort(
      arrivals.begin(), arrivals.end(),
      [](const Arrival &a, const Arrival &b) { return a.ready > b.ready; });
  double least = 0, seconds = 0;
  std::vector<bool> isCounted(traffic.size());
  for (const Arrival &arrival : arrivals) {
    seconds += arrival.seconds;
    if (!isCounted[arrival.key])
      seconds += fixed[arrival.key];
    isCounted[arrival.key] = true;
    least = std::max(least, arrival.ready + seconds);
  }
  return least;
}

} // namespace lockstep::runtime

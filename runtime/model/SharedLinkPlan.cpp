//===- SharedLinkPlan.cpp -------------------------------------------------===//

#include "runtime/model/SharedLinkPlan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace lockstep::runtime {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// Divides the members of a key into groups of neighbors that may share a
/// bucket, of about equal bytes: at most `count`, and one more for each member
/// that may not share the bucket of those before it. Returns the index behind
/// each group.
std::vector<size_t> groupNeighbors(const LinkTraffic &key, size_t count) {
  uint64_t total = 0;
  for (const BucketMember &member : key.members)
    total += member.bytes;
  double perGroup = std::max(double(total) / double(count), 1.0);
  std::vector<size_t> ends;
  size_t begin = 0;
  uint64_t before = 0, bytes = 0;
  double part = 0;
  for (size_t i = 0; i < key.members.size(); ++i) {
    uint64_t next = key.members[i].bytes;
    double partOfNext = std::floor(double(before) / perGroup);
    if (i > begin && (partOfNext > part || key.members[i].first > begin ||
                      (key.mostBytes && bytes + next > key.mostBytes))) {
      ends.push_back(i);
      begin = i;
      bytes = 0;
    }
    part = partOfNext;
    before += next;
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

/// A bucket in the order in which the link transfers those of all keys.
struct OrderedBucket {
  double ready = 0, seconds = 0;
  size_t key = 0, begin = 0, end = 0;
  uint64_t bytes = 0;
};

std::vector<OrderedBucket>
orderBuckets(std::span<const LinkTraffic> keys,
             std::span<const std::vector<size_t>> ends) {
  std::vector<OrderedBucket> order;
  for (size_t k = 0; k < keys.size(); ++k) {
    size_t begin = 0;
    for (size_t end : ends[k]) {
      OrderedBucket bucket{keys[k].members[end - 1].ready, 0, k, begin, end, 0};
      for (size_t i = begin; i < end; ++i)
        bucket.bytes += keys[k].members[i].bytes;
      bucket.seconds = keys[k].time.seconds(bucket.bytes);
      order.push_back(bucket);
      begin = end;
    }
  }
  std::sort(order.begin(), order.end(),
            [](const OrderedBucket &a, const OrderedBucket &b) {
              return std::tie(a.ready, a.key, a.begin) <
                     std::tie(b.ready, b.key, b.begin);
            });
  return order;
}

/// Merges neighboring buckets of a key, the earliest first, as long as the
/// exchange of all ends at `deadline`. Returns the ends for each key.
std::vector<std::vector<size_t>>
mergeNeighbors(std::span<const LinkTraffic> keys,
               std::span<const std::vector<size_t>> ends, double deadline) {
  constexpr size_t none = std::numeric_limits<size_t>::max();
  std::vector<OrderedBucket> order = orderBuckets(keys, ends);
  // The latest end of each bucket, and the next one of its key.
  std::vector<double> latest(order.size());
  std::vector<size_t> next(order.size()), nextOfKey(keys.size(), none);
  for (size_t i = order.size(); i-- > 0;) {
    latest[i] = deadline;
    deadline -= order[i].seconds;
    next[i] = std::exchange(nextOfKey[order[i].key], i);
  }
  std::vector<std::vector<size_t>> merged(keys.size());
  double linkFree = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const OrderedBucket &bucket = order[i];
    const LinkTraffic &key = keys[bucket.key];
    if (size_t n = next[i]; n != none) {
      OrderedBucket &other = order[n];
      uint64_t bytes = bucket.bytes + other.bytes;
      double seconds = key.time.seconds(bytes), busyUntil = linkFree;
      for (size_t between = i + 1; between < n; ++between)
        busyUntil =
            std::max(busyUntil, order[between].ready) + order[between].seconds;
      if (key.members[other.end - 1].first <= bucket.begin &&
          (!key.mostBytes || bytes <= key.mostBytes) &&
          bucket.seconds < kWorthMerging * key.time.seconds(0) &&
          std::max(busyUntil, other.ready) + seconds <= latest[n]) {
        for (size_t between = i + 1; between < n; ++between)
          latest[between] -= seconds - other.seconds;
        other.begin = bucket.begin;
        other.bytes = bytes;
        other.seconds = seconds;
        continue;
      }
    }
    linkFree = std::max(linkFree, bucket.ready) + bucket.seconds;
    merged[bucket.key].push_back(bucket.end);
  }
  return merged;
}

/// The plan for one stream: the ends of the buckets of each key.
std::vector<std::vector<size_t>>
planOneStream(std::span<const LinkTraffic> traffic, double slack,
              double mostBuckets) {
  if (traffic.size() == 1) {
    const LinkTraffic &key = traffic.front();
    return {planBuckets(key.members, key.time, key.mostBytes, slack).ends};
  }
  // With at most this many groups a key, few enough buckets are considered.
  size_t most = 1;
  for (const LinkTraffic &key : traffic)
    most = std::max(most, key.members.size());
  auto countBuckets = [&] {
    double states = 1, members = 0;
    for (const LinkTraffic &key : traffic) {
      double groups = double(std::min(key.members.size(), most));
      states *= groups + 1;
      members += groups;
    }
    return states * members;
  };
  while (most > 1 && countBuckets() > mostBuckets)
    most -= std::max<size_t>(1, most / 16);

  std::vector<LinkTraffic> grouped;
  std::vector<std::vector<size_t>> groups, alone;
  double states = 1, members = 0;
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
    members += double(ends.size());
    groups.push_back(std::move(ends));
    alone.push_back(planBuckets(key.members, key.time, key.mostBytes).ends);
  }
  std::vector<std::vector<size_t>> ends;
  // Dependences and bounds can make many more groups than wanted.
  if (states * members <= 8 * mostBuckets) {
    ends = SharedLinkPlanner(grouped).run();
    for (size_t k = 0; k < ends.size(); ++k)
      for (size_t &end : ends[k])
        end = groups[k][end - 1];
  }
  if (ends.empty() || (isGrouped && transferBuckets(traffic, alone).end <
                                        transferBuckets(traffic, ends).end))
    ends = std::move(alone);
  double deadline = transferBuckets(traffic, ends).end + slack;
  return mergeNeighbors(traffic, ends, deadline);
}

/// Traffic of one stream that is like that of several: each bucket occupies the
/// link for `part` of its latency, and for the rest of it beside others.
LinkTraffic shareLatency(LinkTraffic key, double part) {
  double latency = key.time.seconds(0);
  for (BucketMember &member : key.members)
    member.ready += latency * (1 - part);
  std::vector<TransferTime::Piece> pieces(key.time.getPieces().begin(),
                                          key.time.getPieces().end());
  for (TransferTime::Piece &piece : pieces)
    piece.seconds -= std::min(piece.seconds, latency) * (1 - part);
  key.time = TransferTime(std::move(pieces));
  return key;
}

/// The mean arrival of a byte, and `slack` for each bucket.
double getCost(std::span<const LinkTraffic> traffic, const SharedLinkPlan &plan,
               double slack) {
  double buckets = 0, bytes = 0, arrivals = 0;
  for (size_t k = 0; k < traffic.size(); ++k) {
    size_t begin = 0;
    for (const SharedLinkPlan::Bucket &bucket : plan.buckets[k]) {
      for (; begin < bucket.end; ++begin) {
        bytes += double(traffic[k].members[begin].bytes);
        arrivals += double(traffic[k].members[begin].bytes) * bucket.until;
      }
      ++buckets;
    }
  }
  return (bytes > 0 ? arrivals / bytes : 0) + slack * buckets;
}

} // namespace

SharedLinkPlan planSharedLink(std::span<const LinkTraffic> traffic,
                              double slack, uint64_t streams,
                              double mostBuckets) {
  if (streams == 1)
    return transferBuckets(traffic, planOneStream(traffic, slack, mostBuckets));
  // From 1, as if no other bucket shared the latency, to less than what remains
  // of it if all streams are always busy; and nothing.
  std::vector<double> parts = {0};
  for (double part = 1; part > 0.25 / double(streams); part /= 2)
    parts.push_back(part);
  std::vector<SharedLinkPlan> plans;
  double end = kUnknown;
  for (double part : parts) {
    std::vector<LinkTraffic> shared;
    for (const LinkTraffic &key : traffic)
      shared.push_back(shareLatency(key, part));
    double most = part == 1 ? mostBuckets : mostBuckets / double(parts.size());
    // On the streams, a merged bucket may cost more than slack.
    for (double allowed : {0., slack}) {
      plans.push_back(transferBuckets(
          traffic, planOneStream(shared, allowed, most), streams));
      end = std::min(end, plans.back().end);
    }
  }
  std::erase_if(plans, [&](const SharedLinkPlan &plan) {
    return plan.end > end * (1 + 1e-12) + slack;
  });
  return *std::ranges::min_element(plans, {}, [&](const SharedLinkPlan &plan) {
    return getCost(traffic, plan, slack);
  });
}

SharedLinkPlan transferBuckets(std::span<const LinkTraffic> traffic,
                               std::span<const std::vector<size_t>> ends,
                               uint64_t streams) {
  SharedLinkPlan plan;
  plan.buckets.resize(traffic.size());
  LinkTimeline link(streams);
  for (const OrderedBucket &next : orderBuckets(traffic, ends)) {
    LinkTimeline::Transfer transfer =
        link.carry(next.ready, traffic[next.key].time.split(next.bytes));
    plan.buckets[next.key].push_back({next.end, transfer.begin, transfer.end});
  }
  plan.end = link.getEnd();
  return plan;
}

double leastEnd(std::span<const LinkTraffic> traffic, uint64_t streams) {
  struct Arrival {
    double ready, seconds;
    size_t key;
  };
  std::vector<Arrival> arrivals;
  std::vector<double> fixed;
  for (const LinkTraffic &key : traffic) {
    uint64_t bytes = 0;
    for (const BucketMember &member : key.members)
      bytes += member.bytes;
    TransferTime::Piece bound = key.time.lowerBound(bytes);
    for (const BucketMember &member : key.members)
      arrivals.push_back({member.ready,
                          bound.secondsPerByte * double(member.bytes),
                          fixed.size()});
    fixed.push_back(bound.seconds);
  }
  double least = 0, seconds = 0;
  if (streams > 1 && !fixed.empty()) {
    seconds = std::ranges::min(fixed);
    std::ranges::fill(fixed, 0);
  }
  std::sort(
      arrivals.begin(), arrivals.end(),
      [](const Arrival &a, const Arrival &b) { return a.ready > b.ready; });
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

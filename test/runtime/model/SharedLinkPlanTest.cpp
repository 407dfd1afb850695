//===- SharedLinkPlanTest.cpp ---------------------------------------------===//

#include "runtime/model/SharedLinkPlan.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <random>

using namespace lockstep::runtime;

namespace {

using Traffic = std::vector<LinkTraffic>;
using Ends = std::vector<std::vector<size_t>>;

/// α seconds and β seconds per byte.
TransferTime affineTime(double alpha, double beta) {
  return TransferTime({{0, alpha, beta}});
}

Ends endsOf(const SharedLinkPlan &plan) {
  Ends ends;
  for (const auto &buckets : plan.buckets) {
    ends.emplace_back();
    for (const SharedLinkPlan::Bucket &bucket : buckets)
      ends.back().push_back(bucket.end);
  }
  return ends;
}

size_t countBuckets(const SharedLinkPlan &plan) {
  size_t count = 0;
  for (const auto &buckets : plan.buckets)
    count += buckets.size();
  return count;
}

/// All divisions of the members of a key into buckets that it allows.
Ends divisionsOf(const LinkTraffic &key) {
  Ends divisions;
  size_t count = key.members.size();
  for (uint32_t cuts = 0; cuts < 1u << (count - 1); ++cuts) {
    std::vector<size_t> ends;
    bool isAllowed = true;
    size_t begin = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      bytes += key.members[i].bytes;
      isAllowed &= key.members[i].first <= begin &&
                   (!key.mostBytes || i == begin || bytes <= key.mostBytes);
      if (i + 1 == count || (cuts >> i & 1)) {
        ends.push_back(i + 1);
        begin = i + 1;
        bytes = 0;
      }
    }
    if (isAllowed)
      divisions.push_back(ends);
  }
  return divisions;
}

/// The earliest end among all divisions of all keys from `k` on.
double exhaustiveEnd(const Traffic &traffic, uint64_t streams = 1,
                     Ends chosen = {}) {
  if (chosen.size() == traffic.size())
    return transferBuckets(traffic, chosen, streams).end;
  double best = std::numeric_limits<double>::infinity();
  for (const std::vector<size_t> &ends : divisionsOf(traffic[chosen.size()])) {
    Ends next = chosen;
    next.push_back(ends);
    best = std::min(best, exhaustiveEnd(traffic, streams, next));
  }
  return best;
}

bool keepsRules(const Traffic &traffic, const SharedLinkPlan &plan) {
  Ends ends = endsOf(plan);
  for (size_t k = 0; k < traffic.size(); ++k) {
    size_t begin = 0;
    for (size_t end : ends[k]) {
      uint64_t bytes = 0;
      for (size_t i = begin; i < end; ++i) {
        bytes += traffic[k].members[i].bytes;
        if (traffic[k].members[i].first > begin)
          return false;
      }
      if (traffic[k].mostBytes && end - begin > 1 &&
          bytes > traffic[k].mostBytes)
        return false;
      begin = end;
    }
    if (begin != traffic[k].members.size())
      return false;
  }
  return true;
}

/// The end of the exchange if the plan of each key is made for it alone.
double endIfPlannedAlone(const Traffic &traffic) {
  Ends ends;
  for (const LinkTraffic &key : traffic)
    ends.push_back(planBuckets(key.members, key.time, key.mostBytes).ends);
  return transferBuckets(traffic, ends).end;
}

/// Random keys; all quantities are of orders at which the choice matters.
class RandomTraffic {
public:
  explicit RandomTraffic(uint32_t seed) : random(seed) {}

  Traffic keys(size_t count, size_t mostMembers) {
    Traffic traffic;
    for (size_t k = 0; k < count; ++k)
      traffic.push_back(key(number(1, mostMembers)));
    return traffic;
  }

private:
  LinkTraffic key(size_t count) {
    LinkTraffic key;
    key.time = affineTime(real(0, 3e-4), real(0, 1e-9));
    if (chance(0.3))
      key.time = TransferTime({{0, real(0, 3e-4), real(0, 1e-9)},
                               {number(1, 1 << 20), 2e-4, real(0, 1e-9)}});
    double ready = 0;
    for (size_t i = 0; i < count; ++i) {
      if (chance(0.8))
        ready += std::exponential_distribution<double>(1e4)(random);
      BucketMember member;
      member.ready = ready;
      member.bytes = chance(0.1) ? 0 : number(1, chance(0.3) ? 1 << 22 : 65536);
      member.first = i ? key.members[i - 1].first : 0;
      if (chance(0.1))
        member.first = number(member.first, i);
      key.members.push_back(member);
    }
    if (chance(0.3))
      key.mostBytes = number(1, 1 << 21);
    return key;
  }

  bool chance(double probability) {
    return std::bernoulli_distribution(probability)(random);
  }
  double real(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  }
  uint64_t number(uint64_t least, uint64_t most) {
    return std::uniform_int_distribution<uint64_t>(least, most)(random);
  }

  std::mt19937 random;
};

TEST(SharedLinkPlan, EqualsExhaustiveSearch) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    size_t count = 1 + seed % 3;
    Traffic traffic = RandomTraffic(seed).keys(count, count == 3 ? 4 : 6);
    SharedLinkPlan plan = planSharedLink(traffic);
    ASSERT_TRUE(keepsRules(traffic, plan)) << "seed " << seed;
    double best = exhaustiveEnd(traffic);
    ASSERT_NEAR(plan.end, best, 1e-12) << "seed " << seed;
    ASSERT_LE(leastEnd(traffic), best + 1e-12) << "seed " << seed;
    SharedLinkPlan merged = planSharedLink(traffic, /*slack=*/1e-4);
    ASSERT_TRUE(keepsRules(traffic, merged)) << "seed " << seed;
    ASSERT_LE(merged.end, best + 1e-4 + 1e-12) << "seed " << seed;
    ASSERT_NEAR(merged.end, transferBuckets(traffic, endsOf(merged)).end, 1e-12)
        << "seed " << seed;
    for (size_t k = 0; k < count; ++k)
      ASSERT_LE(merged.buckets[k].size(), plan.buckets[k].size());
  }
}

// The plan for several streams is not exact: it has to be near the best one,
// and each plan within the bound.
TEST(SharedLinkPlan, OnStreamsIsNearExhaustiveSearch) {
  std::vector<double> excess;
  size_t buckets = 0, bucketsMerged = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    size_t count = 1 + seed % 3;
    uint64_t streams = 2 + seed % 4;
    Traffic traffic = RandomTraffic(seed).keys(count, count == 3 ? 4 : 7);
    SharedLinkPlan plan = planSharedLink(traffic, 0, streams);
    ASSERT_TRUE(keepsRules(traffic, plan)) << "seed " << seed;
    double best = exhaustiveEnd(traffic, streams);
    excess.push_back(plan.end / best - 1);
    ASSERT_LE(leastEnd(traffic, streams), best + 1e-12) << "seed " << seed;
    // What one stream carries, several carry no later.
    ASSERT_LE(transferBuckets(traffic, endsOf(plan), streams).end,
              transferBuckets(traffic, endsOf(plan)).end + 1e-12)
        << "seed " << seed;
    SharedLinkPlan ofOne = planSharedLink(traffic);
    ASSERT_LE(plan.end,
              transferBuckets(traffic, endsOf(ofOne), streams).end + 1e-12)
        << "seed " << seed;
    constexpr double slack = 1e-4;
    SharedLinkPlan merged = planSharedLink(traffic, slack, streams);
    ASSERT_TRUE(keepsRules(traffic, merged)) << "seed " << seed;
    ASSERT_LE(merged.end, plan.end + slack + 1e-12) << "seed " << seed;
    buckets += countBuckets(plan);
    bucketsMerged += countBuckets(merged);
  }
  EXPECT_LT(bucketsMerged, buckets);
  std::ranges::sort(excess);
  EXPECT_LE(excess[excess.size() / 2], 1e-12);
  EXPECT_LE(excess[excess.size() * 9 / 10], 0.01);
  EXPECT_LE(excess.back(), 0.15);
}

TEST(SharedLinkPlan, InGroupsIsNotWorseThanKeysAlone) {
  double sum = 0, sumAlone = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Traffic traffic = RandomTraffic(seed).keys(3, 60);
    SharedLinkPlan plan = planSharedLink(traffic, 0, 1, /*mostBuckets=*/30000);
    ASSERT_TRUE(keepsRules(traffic, plan)) << "seed " << seed;
    double alone = endIfPlannedAlone(traffic);
    ASSERT_LE(plan.end, alone + 1e-12) << "seed " << seed;
    ASSERT_LE(leastEnd(traffic), plan.end + 1e-12) << "seed " << seed;
    sum += plan.end;
    sumAlone += alone;
  }
  EXPECT_LT(sum, sumAlone);
}

TEST(SharedLinkPlan, OfTooManyBucketsHasKeysPlannedAlone) {
  // Dependences leave no groups to make.
  LinkTraffic key;
  key.time = affineTime(1, 0);
  for (size_t i = 0; i < 100; ++i)
    key.members.push_back({double(i), 1, i});
  Traffic traffic = {key, key, key};
  SharedLinkPlan plan = planSharedLink(traffic, 0, 1, /*mostBuckets=*/10);
  EXPECT_TRUE(keepsRules(traffic, plan));
  EXPECT_EQ(plan.end, 300);
}

// Each key alone sends its first member at once. With both, the link is busy
// then anyway, so that one of them saves a latency.
TEST(SharedLinkPlan, MergesForTheSakeOfOtherKeys) {
  LinkTraffic key{{{0, 4}, {2, 1}}, affineTime(1, 0.25)};
  EXPECT_EQ(planBuckets(key.members, key.time).ends,
            (std::vector<size_t>{1, 2}));
  Traffic traffic = {key, key};
  EXPECT_EQ(endIfPlannedAlone(traffic), 6.5);
  SharedLinkPlan plan = planSharedLink(traffic);
  EXPECT_EQ(plan.end, 5.5);
  EXPECT_EQ(plan.buckets[0].size() + plan.buckets[1].size(), 3u);
  EXPECT_EQ(leastEnd(traffic), 4.5);
}

TEST(SharedLinkPlan, MergesWithinTheSlack) {
  Traffic traffic = {{{{0, 1}, {100, 1000}}, affineTime(10, 0.001)},
                     {{{50, 1}}, affineTime(1, 0)}};
  EXPECT_EQ(endsOf(planSharedLink(traffic)), (Ends{{1, 2}, {1}}));
  SharedLinkPlan plan = planSharedLink(traffic, /*slack=*/1);
  EXPECT_EQ(endsOf(plan), (Ends{{2}, {1}}));
  EXPECT_DOUBLE_EQ(plan.end, 111.001);
  EXPECT_EQ(plan.buckets[1][0].from, 50);
  EXPECT_EQ(plan.buckets[1][0].until, 51);
}

} // namespace

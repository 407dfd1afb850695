//===- BucketPlanTest.cpp -------------------------------------------------===//

#include "runtime/model/SharedLinkPlan.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

using namespace lockstep::runtime;

namespace {

using Members = std::vector<BucketMember>;

constexpr uint64_t MiB = 1024 * 1024;

/// α seconds and β seconds per byte.
TransferTime affine(double alpha, double beta) {
  return TransferTime({{0, alpha, beta}});
}

bool isAllowed(const Members &members, std::span<const size_t> ends,
               uint64_t mostBytes) {
  size_t begin = 0;
  for (size_t end : ends) {
    uint64_t bytes = 0;
    for (size_t i = begin; i < end; ++i) {
      bytes += members[i].bytes;
      if (members[i].first > begin)
        return false;
    }
    if (mostBytes && end - begin > 1 && bytes > mostBytes)
      return false;
    begin = end;
  }
  return begin == members.size();
}

/// The earliest end among all divisions into buckets.
double exhaustiveEnd(const Members &members, const TransferTime &time,
                     uint64_t mostBytes) {
  double best = std::numeric_limits<double>::infinity();
  for (uint32_t cuts = 0; cuts < 1u << (members.size() - 1); ++cuts) {
    std::vector<size_t> ends;
    for (size_t i = 0; i + 1 < members.size(); ++i)
      if (cuts >> i & 1)
        ends.push_back(i + 1);
    ends.push_back(members.size());
    if (isAllowed(members, ends, mostBytes))
      best = std::min(best, endOfPlan(members, time, ends));
  }
  return best;
}

/// Random instances; all quantities are of orders at which the choice matters.
class RandomInstance {
public:
  explicit RandomInstance(uint32_t seed) : random(seed) {}

  Members members(size_t count) {
    Members members(count);
    double ready = 0;
    bool isEqualOften = chance(0.3);
    for (size_t i = 0; i < count; ++i) {
      if (!isEqualOften || chance(0.5))
        ready += std::exponential_distribution<double>(1e4)(random);
      members[i].ready = ready;
      members[i].bytes =
          chance(0.1) ? 0 : number(1, chance(0.3) ? 1 << 22 : 1 << 16);
      members[i].first = i ? members[i - 1].first : 0;
      if (chance(0.1))
        members[i].first = number(members[i].first, i);
    }
    return members;
  }

  TransferTime time() {
    std::vector<TransferTime::Piece> pieces;
    uint64_t from = 0;
    for (uint64_t i = 0, count = number(1, 3); i < count; ++i) {
      pieces.push_back(
          {from, std::uniform_real_distribution<double>(0, 3e-4)(random),
           std::uniform_real_distribution<double>(0, 1e-9)(random)});
      from += number(1, 1 << 20);
    }
    return TransferTime(std::move(pieces));
  }

  uint64_t bound() { return chance(0.5) ? 0 : number(1, 1 << 21); }

private:
  bool chance(double probability) {
    return std::bernoulli_distribution(probability)(random);
  }
  uint64_t number(uint64_t least, uint64_t most) {
    return std::uniform_int_distribution<uint64_t>(least, most)(random);
  }

  std::mt19937 random;
};

TEST(BucketPlan, EqualsExhaustiveSearch) {
  for (uint32_t seed = 0; seed < 10000; ++seed) {
    RandomInstance instance(seed);
    // Up to 14 members, but large instances less often: each has 2^13 plans.
    Members members = instance.members(1 + seed % (seed % 10 ? 9 : 14));
    TransferTime time = instance.time();
    uint64_t bound = instance.bound();
    BucketPlan plan = planBuckets(members, time, bound);
    ASSERT_TRUE(isAllowed(members, plan.ends, bound)) << "seed " << seed;
    double best = exhaustiveEnd(members, time, bound);
    ASSERT_NEAR(plan.end, best, 1e-12) << "seed " << seed;
    ASSERT_NEAR(endOfPlan(members, time, plan.ends), best, 1e-12)
        << "seed " << seed;
    LinkTraffic traffic{members, time};
    ASSERT_LE(leastEnd({&traffic, 1}), best + 1e-12) << "seed " << seed;
  }
}

TEST(BucketPlan, IsNeverWorseThanFixedThresholds) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    RandomInstance instance(seed);
    Members members = instance.members(50 + 17 * (seed % 50));
    TransferTime time = instance.time();
    double end = planBuckets(members, time).end;
    for (uint64_t threshold : {uint64_t(1), MiB, 4 * MiB, 16 * MiB, 25 * MiB,
                               30 * MiB, 64 * MiB, uint64_t(0)})
      EXPECT_LE(end, fillBuckets(members, time, threshold).end + 1e-12)
          << "seed " << seed << ", threshold " << threshold;
  }
}

// A latency of 1 s: the second and third are ready before the first is
// exchanged. In a bucket with the fourth, all would be exchanged later.
TEST(BucketPlan, MergesWhatWouldWaitForTheLink) {
  Members members = {{0, 8}, {0.1, 8}, {0.2, 8}, {5, 8}};
  BucketPlan plan = planBuckets(members, affine(1, 0.1));
  EXPECT_EQ(plan.ends, (std::vector<size_t>{3, 4}));
  EXPECT_DOUBLE_EQ(plan.end, 6.8);
}

// Without latency the first begins at once. The others wait for the link
// anyway, so that they can be one bucket.
TEST(BucketPlan, StartsAtOnceWithoutLatency) {
  Members members = {{1, 10}, {2, 10}, {3, 10}};
  BucketPlan plan = planBuckets(members, affine(0, 0.5));
  EXPECT_EQ(plan.ends, (std::vector<size_t>{1, 3}));
  EXPECT_DOUBLE_EQ(plan.end, 16);
}

// Members that are ready together travel together, even where two collectives
// would end in time.
TEST(BucketPlan, MergesWhereNothingIsDelayed) {
  Members members = {{0, 1}, {0, 1}, {100, 1}};
  BucketPlan plan = planBuckets(members, affine(1, 1));
  EXPECT_EQ(plan.ends, (std::vector<size_t>{2, 3}));
  EXPECT_DOUBLE_EQ(plan.end, 102);
}

// A member that would delay the last bucket by its single byte joins it.
TEST(BucketPlan, MergesWithinTheSlack) {
  Members members = {{0, 1}, {100, 1000}};
  TransferTime time = affine(10, 0.001);
  EXPECT_EQ(planBuckets(members, time).ends, (std::vector<size_t>{1, 2}));
  BucketPlan plan = planBuckets(members, time, 0, /*slack=*/1);
  EXPECT_EQ(plan.ends, (std::vector<size_t>{2}));
  EXPECT_DOUBLE_EQ(plan.end, 111.001);
}

TEST(BucketPlan, KeepsTheBoundOfTheUser) {
  Members members = {{0, 10}, {0, 10}, {0, 30}, {0, 10}};
  BucketPlan plan = planBuckets(members, affine(1, 0), 20);
  EXPECT_EQ(plan.ends, (std::vector<size_t>{2, 3, 4}));
}

TEST(BucketPlan, DividesWhereAMemberDependsOnAnother) {
  Members members = {{0, 1}, {0, 1, 1}, {0, 1, 1}};
  BucketPlan plan = planBuckets(members, affine(1, 0));
  EXPECT_EQ(plan.ends, (std::vector<size_t>{1, 3}));
}

TEST(BucketPlan, OfNothingIsEmpty) {
  BucketPlan plan = planBuckets({}, affine(1, 1));
  EXPECT_TRUE(plan.ends.empty());
  EXPECT_EQ(plan.end, 0);
  EXPECT_EQ(leastEnd({}), 0);
}

TEST(TransferTime, IsBoundedByALine) {
  auto bound = [](const TransferTime &time, uint64_t mostBytes) {
    TransferTime::Piece line = time.lowerBound(mostBytes);
    return std::pair(line.seconds, line.secondsPerByte);
  };
  // From 10 bytes on, another algorithm has a longer latency and a higher rate.
  TransferTime time({{0, 1, 4}, {10, 13, 2}});
  EXPECT_EQ(bound(time, 0), std::pair(1., 4.));
  EXPECT_EQ(bound(time, 9), std::pair(1., 4.));
  EXPECT_EQ(bound(time, 10), std::pair(1., 3.2));
  EXPECT_EQ(bound(time, 12), std::pair(1., 3.));
  // Here, 10 bytes take less than 9.
  EXPECT_EQ(bound(TransferTime({{0, 1, 4}, {10, 11, 1}}), 100),
            std::pair(1., 1.1));
  EXPECT_EQ(bound(TransferTime({{0, 16, 4}, {10, 8, 0}}), 10),
            std::pair(8., 0.));
}

TEST(TransferTime, HasPieces) {
  TransferTime time({{0, 1, 2}, {10, 5, 1}});
  EXPECT_DOUBLE_EQ(time.seconds(0), 1);
  EXPECT_DOUBLE_EQ(time.seconds(9), 19);
  EXPECT_DOUBLE_EQ(time.seconds(10), 15);
  EXPECT_EQ(time.endOf(0), 10u);
}

} // namespace

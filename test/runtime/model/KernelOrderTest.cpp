//===- KernelOrderTest.cpp ------------------------------------------------===//

#include "runtime/model/KernelOrder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

using namespace lockstep::runtime;
using testing::ElementsAre;

namespace {

using Jobs = std::vector<LinkJob>;
using Order = std::vector<size_t>;

Order writtenOrder(const Jobs &jobs) {
  Order order(jobs.size());
  std::iota(order.begin(), order.end(), size_t(0));
  return order;
}

bool respectsSources(const Jobs &jobs, const Order &order) {
  std::vector<size_t> position(jobs.size(), jobs.size());
  for (size_t at = 0; at < order.size(); ++at)
    position[order[at]] = at;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (position[i] == jobs.size())
      return false;
    for (size_t source : jobs[i].sources)
      if (position[source] > position[i])
        return false;
  }
  return order.size() == jobs.size();
}

/// The least end among all orders that respect dependences and begin with the
/// first `kept` jobs.
double exhaustiveEnd(const Jobs &jobs, size_t kept) {
  Order order = writtenOrder(jobs);
  double best = std::numeric_limits<double>::infinity();
  do
    if (respectsSources(jobs, order))
      best = std::min(best, endOfOrder(jobs, order));
  while (
      std::next_permutation(order.begin() + std::ptrdiff_t(kept), order.end()));
  return best;
}

/// Jobs with at most `mostSources` dependences each; times are small integers,
/// so that sums are exact and many are equal.
Jobs randomJobs(std::mt19937 &random, size_t count, size_t mostSources) {
  auto number = [&](size_t least, size_t most) {
    return std::uniform_int_distribution<size_t>(least, most)(random);
  };
  Jobs jobs(count);
  for (size_t i = 0; i < count; ++i) {
    jobs[i].compute = double(number(0, 6));
    jobs[i].transfer = number(0, 1) ? double(number(0, 8)) : 0;
    for (size_t n = i ? number(0, mostSources) : 0; n > 0; --n)
      jobs[i].sources.push_back(number(0, i - 1));
    std::ranges::sort(jobs[i].sources);
    auto same = std::ranges::unique(jobs[i].sources);
    jobs[i].sources.erase(same.begin(), same.end());
  }
  return jobs;
}

TEST(KernelOrderTest, IndependentJobsAreInJohnsonsOrder) {
  // The example of Johnson's paper, section 3.
  Jobs jobs = {{4, 5, {}}, {4, 1, {}}, {30, 4, {}}, {6, 30, {}}, {2, 3, {}}};
  EXPECT_THAT(orderForLink(jobs), ElementsAre(4, 0, 3, 2, 1));
}

TEST(KernelOrderTest, TheGradientOfTheFirstLayerIsNotTheLast) {
  // A backward pass of three layers: each computes the gradient of its input,
  // which the next one needs, and that of its parameters, which is exchanged.
  // The kernels take longer than the link. Written, the largest gradient is the
  // last.
  Jobs jobs = {{5, 0, {}},  {5, 1, {0}}, {5, 0, {0}},
               {5, 2, {2}}, {5, 0, {2}}, {5, 9, {4}}};
  EXPECT_EQ(endOfOrder(jobs, writtenOrder(jobs)), 39);
  EXPECT_THAT(orderForLink(jobs), ElementsAre(0, 2, 4, 5, 3, 1));
  EXPECT_EQ(endOfOrder(jobs, orderForLink(jobs)), 32);
  EXPECT_THAT(planKernelOrder(jobs), ElementsAre(0, 2, 4, 5, 3, 1));
  // Where a later end is as good, less is moved.
  EXPECT_THAT(planKernelOrder(jobs, 0, 4), ElementsAre(0, 1, 2, 4, 5, 3));
  EXPECT_THAT(planKernelOrder(jobs, 36), ElementsAre(0, 1, 2, 4, 5, 3));
  EXPECT_EQ(planKernelOrder(jobs, 39), writtenOrder(jobs));
}

TEST(KernelOrderTest, TransfersStartWhenTheyCan) {
  Jobs jobs = {{3, 0, {}}, {2, 0, {}}, {0, 4, {0}}, {0, 1, {0, 1}}};
  EXPECT_THAT(orderForLink(jobs), ElementsAre(0, 2, 1, 3));
}

TEST(KernelOrderTest, TreesHaveTheEarliestEnd) {
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    Jobs jobs = randomJobs(random, 1 + i % 7, 1);
    for (size_t kept = 0; kept <= jobs.size(); ++kept) {
      Order order = orderForLink(jobs, kept);
      ASSERT_TRUE(respectsSources(jobs, order)) << i;
      ASSERT_LE(endOfOrder(jobs, order), exhaustiveEnd(jobs, kept)) << i;
    }
  }
}

TEST(KernelOrderTest, NoOrderBeatsTheBound) {
  std::mt19937 random(4);
  size_t reached = 0;
  for (int i = 0; i < 2000; ++i) {
    Jobs trees = randomJobs(random, 1 + i % 7, 1);
    ASSERT_EQ(leastEndOfOrders(trees), exhaustiveEnd(trees, 0)) << i;
    Jobs jobs = randomJobs(random, 1 + i % 7, 3);
    double least = leastEndOfOrders(jobs), end = exhaustiveEnd(jobs, 0);
    ASSERT_LE(least, end) << i;
    reached += least == end;
  }
  // Where jobs depend on several others, it is often the least end, too.
  EXPECT_GT(reached, 1000u);
}

TEST(KernelOrderTest, APlanForATreeKeepsAllThatItMay) {
  std::mt19937 random(2);
  for (int i = 0; i < 1000; ++i) {
    Jobs jobs = randomJobs(random, 1 + i % 12, 1);
    double slack = i % 3, least = endOfOrder(jobs, orderForLink(jobs));
    size_t kept = jobs.size();
    while (endOfOrder(jobs, orderForLink(jobs, kept)) > least + slack)
      --kept;
    Order order = planKernelOrder(jobs, 0, slack);
    ASSERT_LE(endOfOrder(jobs, order), least + slack) << i;
    if (kept < jobs.size())
      ASSERT_EQ(order, orderForLink(jobs, kept)) << i;
    else
      ASSERT_LE(endOfOrder(jobs, order), endOfOrder(jobs, writtenOrder(jobs)));
  }
}

TEST(KernelOrderTest, OtherDependencesAreRespected) {
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    Jobs jobs = randomJobs(random, 1 + i % 30, 4);
    Order order = planKernelOrder(jobs);
    ASSERT_TRUE(respectsSources(jobs, order)) << i;
    ASSERT_LE(endOfOrder(jobs, order), endOfOrder(jobs, writtenOrder(jobs)));
  }
}

TEST(KernelOrderTest, ManyJobs) {
  // Each kernel needs the one before, and every second is followed by a
  // gradient.
  Jobs jobs;
  for (size_t i = 0; i < 100'000; ++i)
    if (i % 3 == 2)
      jobs.push_back({2, double(i % 5), {i - 1}});
    else
      jobs.push_back(
          {1, 0, i == 0 ? Order() : Order{i - (i % 3 == 0 ? 2 : 1)}});
  Order order = planKernelOrder(jobs);
  EXPECT_TRUE(respectsSources(jobs, order));
  EXPECT_LE(endOfOrder(jobs, order), endOfOrder(jobs, writtenOrder(jobs)));
}

} // namespace

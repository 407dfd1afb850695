//===- CollectiveCostTest.cpp - closed forms of bytes and times -----------===//

#include "runtime/collectives/CollectiveCost.h"

#include "runtime/schema/artifact_generated.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

using namespace lockstep::runtime;
using lockstep::artifact::CollectiveKind;

namespace {

constexpr Link link{.latency = 40e-6, .secondsPerByte = 1e-9};

/// Messages and bytes of the busiest of n members with b bytes of operands
/// each, where n divides b.
struct ClosedForm {
  CollectiveKind kind;
  std::function<double(double n, double b)> messages, bytes, leastBytes;
};

double others(double n, double) { return n - 1; }
double one(double n, double) { return n > 1 ? 1 : 0; }
double once(double n, double b) { return n > 1 ? b : 0; }
double parts(double n, double b) { return (n - 1) / n * b; }
double partsTwice(double n, double b) { return 2 * (n - 1) / n * b; }
double each(double n, double b) { return (n - 1) * b; }
double nothing(double, double) { return 0; }

const ClosedForm closedForms[] = {
    {CollectiveKind::all_reduce, others, each, partsTwice},
    {CollectiveKind::reduce_scatter, others, parts, parts},
    {CollectiveKind::all_gather, others, each, each},
    {CollectiveKind::reduce, others, each, once},
    {CollectiveKind::broadcast, others, each, once},
    {CollectiveKind::gather, others, each, each},
    {CollectiveKind::scatter, others, once, once},
    {CollectiveKind::all_to_all, others, parts, parts},
    {CollectiveKind::send, one, once, once},
    {CollectiveKind::recv, one, once, once},
    {CollectiveKind::permute, one, once, once},
    {CollectiveKind::barrier, others, nothing, nothing},
};

TEST(CollectiveCost, IsThatOfTheClosedForms) {
  ASSERT_EQ(std::size(closedForms), CollectiveProperties::all().size());
  for (const ClosedForm &form : closedForms)
    for (uint64_t n : {1, 2, 3, 4, 7, 8}) {
      uint64_t b = 168 * 4;
      Traffic found = trafficOf(form.kind, n, b);
      SCOPED_TRACE(CollectiveProperties::of(form.kind).name);
      EXPECT_EQ(double(found.messages), form.messages(double(n), double(b)));
      EXPECT_EQ(double(found.bytes), form.bytes(double(n), double(b)));
      EXPECT_DOUBLE_EQ(found.seconds(link),
                       form.messages(double(n), double(b)) * 40e-6 +
                           form.bytes(double(n), double(b)) * 1e-9);
      EXPECT_EQ(double(leastTrafficOf(form.kind, n, b).bytes),
                form.leastBytes(double(n), double(b)));
    }
}

// From 64 KiB on, twice as many messages and not more bytes than needed.
TEST(CollectiveCost, OfALargeAllReduce) {
  constexpr uint64_t bytes = 1 << 20;
  for (uint64_t n : {1, 2, 4, 8}) {
    Traffic found = trafficOf(CollectiveKind::all_reduce, n, bytes);
    EXPECT_EQ(found.messages, 2 * (n - 1));
    EXPECT_EQ(found.bytes, 2 * (n - 1) * bytes / n);
    EXPECT_EQ(found.bytes,
              leastTrafficOf(CollectiveKind::all_reduce, n, bytes).bytes);
  }
  EXPECT_TRUE(isReducedInParts(CollectiveKind::all_reduce, 64 * 1024));
  EXPECT_FALSE(isReducedInParts(CollectiveKind::all_reduce, 64 * 1024 - 1));
  EXPECT_FALSE(isReducedInParts(CollectiveKind::reduce, bytes));
}

// The messages of a bound are those of a binomial tree.
TEST(CollectiveCost, BoundsAreLogarithmic) {
  for (uint64_t n : {1, 2, 3, 4, 5, 8, 9})
    EXPECT_EQ(double(leastTrafficOf(CollectiveKind::broadcast, n, 8).messages),
              std::ceil(std::log2(double(n))));
}

TEST(CollectiveCost, IsNeverBelowTheBound) {
  for (const CollectiveProperties &kind : CollectiveProperties::all())
    for (uint64_t n : {1, 2, 3, 5, 8, 64})
      for (uint64_t bytes : {0, 1, 1000, 65535, 65536, 1000000}) {
        Traffic found = trafficOf(kind.kind, n, bytes),
                least = leastTrafficOf(kind.kind, n, bytes);
        EXPECT_GE(found.messages, least.messages) << kind.name << " of " << n;
        EXPECT_GE(found.bytes, least.bytes)
            << kind.name << " of " << n << ", " << bytes << " bytes";
      }
}

} // namespace

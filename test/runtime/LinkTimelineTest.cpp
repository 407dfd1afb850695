//===- LinkTimelineTest.cpp - collectives that a link carries -------------===//

#include "runtime/collectives/LinkTimeline.h"

#include <gtest/gtest.h>

using namespace lockstep::runtime;

namespace {

TEST(LinkTimeline, OfOneStreamCarriesOneAfterTheOther) {
  LinkTimeline link;
  EXPECT_EQ(link.getEnd(), 0);
  LinkTimeline::Transfer first = link.carry(1, {2, 3});
  EXPECT_EQ(first.begin, 1);
  EXPECT_EQ(first.end, 6);
  EXPECT_EQ(first.waitedFor, LinkTimeline::none);
  LinkTimeline::Transfer second = link.carry(4, {2, 1});
  EXPECT_EQ(second.begin, 6);
  EXPECT_EQ(second.end, 9);
  EXPECT_EQ(second.waitedFor, 0u);
  // The link is free again.
  LinkTimeline::Transfer third = link.carry(20, {2, 1});
  EXPECT_EQ(third.begin, 20);
  EXPECT_EQ(third.waitedFor, LinkTimeline::none);
  EXPECT_EQ(link.getEnd(), 23);
}

TEST(LinkTimeline, OverlapsLatenciesAndNotBytes) {
  LinkTimeline link(2);
  EXPECT_EQ(link.carry(0, {2, 3}).end, 5);
  // Its latency ends before the bytes of the first one.
  LinkTimeline::Transfer second = link.carry(0, {2, 4});
  EXPECT_EQ(second.stream, 1u);
  EXPECT_EQ(second.begin, 0);
  EXPECT_EQ(second.end, 9);
  EXPECT_EQ(second.waitedFor, 0u);
  // Both streams are occupied: it begins behind the first one.
  LinkTimeline::Transfer third = link.carry(1, {6, 1});
  EXPECT_EQ(third.stream, 0u);
  EXPECT_EQ(third.begin, 5);
  EXPECT_EQ(third.end, 12);
  EXPECT_EQ(third.waitedFor, 0u);
  // A longer latency than that of the bytes before.
  LinkTimeline::Transfer fourth = link.carry(10, {5, 1});
  EXPECT_EQ(fourth.stream, 1u);
  EXPECT_EQ(fourth.begin, 10);
  EXPECT_EQ(fourth.end, 16);
  EXPECT_EQ(fourth.waitedFor, LinkTimeline::none);
}

// Another algorithm may have fewer messages than that for no bytes.
TEST(TransferSeconds, HasNoNegativePart) {
  TransferSeconds shorter = TransferSeconds::split(3, 5);
  EXPECT_EQ(shorter.latency, 3);
  EXPECT_EQ(shorter.bytes, 0);
  TransferSeconds longer = TransferSeconds::split(7, 5);
  EXPECT_EQ(longer.latency, 5);
  EXPECT_EQ(longer.bytes, 2);
}

} // namespace

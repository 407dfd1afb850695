//===- PackingTest.cpp - tensors that are reduced together ----------------===//

#include "test/conformance/Packing.h"

#include <gtest/gtest.h>

using namespace lockstep::runtime;

namespace {

using Packs = std::vector<Pack>;

/// Packs of tensors with these numbers of elements.
Packs pack(const std::vector<uint64_t> &elements, uint64_t elementBytes,
           uint64_t bytesPerPack) {
  std::vector<std::optional<uint64_t>> bytes;
  for (uint64_t count : elements)
    bytes.push_back(count * elementBytes);
  return packBySize(bytes, bytesPerPack);
}

} // namespace

// 2.5: the table of the reference. [2.5-packing-table]
TEST(Packing, ClosesAPackThatHasMoreThanTheBound) {
  EXPECT_EQ(pack({3, 1, 4}, 4, 8), (Packs{{0}, {1, 2}}));
  EXPECT_EQ(pack({3, 1, 4}, 4, 0), (Packs{{0, 1, 2}}));
  EXPECT_EQ(pack({3, 1, 4}, 4, 4), (Packs{{0}, {1, 2}}));
  EXPECT_EQ(pack({10, 10, 10}, 4, 40), (Packs{{0, 1}, {2}}));
  EXPECT_EQ(pack({10, 10, 10}, 4, 39), (Packs{{0}, {1}, {2}}));
  EXPECT_EQ(pack({1, 1, 1, 1, 1, 1}, 4, 8), (Packs{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(pack({1, 1, 1, 1, 1, 1}, 8, 8), (Packs{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(pack({100, 1, 1, 100}, 4, 100), (Packs{{0}, {1, 2, 3}}));
  EXPECT_EQ(pack({2, 2, 2, 2}, 2, 4), (Packs{{0, 1}, {2, 3}}));
  EXPECT_EQ(pack({}, 4, 8), Packs{});
}

// A tensor without bytes closes nothing, and a bound that no sum reaches is no
// overflow.
TEST(Packing, Extremes) {
  EXPECT_EQ(pack({0, 0, 1}, 4, 1), (Packs{{0, 1, 2}}));
  EXPECT_EQ(packBySize(std::vector<std::optional<uint64_t>>{~uint64_t(0),
                                                            ~uint64_t(0), 1},
                       ~uint64_t(0)),
            (Packs{{0, 1}, {2}}));
}

TEST(Packing, OneUnknownSizeMakesOnePack) {
  EXPECT_EQ(
      packBySize(std::vector<std::optional<uint64_t>>{100, std::nullopt, 100},
                 8),
      (Packs{{0, 1, 2}}));
}

// Gradients: from the last one to the first.
TEST(Packing, Reversed) {
  EXPECT_EQ(packReversed(std::vector<std::optional<uint64_t>>{12, 4, 16}, 8),
            (Packs{{2}, {1, 0}}));
}

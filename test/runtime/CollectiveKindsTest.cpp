//===- CollectiveKindsTest.cpp - the table of kinds -----------------------===//

#include "runtime/collectives/CollectiveKinds.h"

#include "runtime/schema/artifact_generated.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

using namespace lockstep::runtime;
using lockstep::artifact::CollectiveKind;

namespace {

/// Names of the kinds for which `property` is true.
template <typename Property> std::vector<std::string> kindsWith(Property has) {
  std::vector<std::string> names;
  for (const CollectiveProperties &row : CollectiveProperties::all())
    if (has(row))
      names.push_back(row.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(CollectiveKinds, EveryKindOfTheSchemaHasARow) {
  for (CollectiveKind kind : lockstep::artifact::EnumValuesCollectiveKind()) {
    EXPECT_EQ(CollectiveProperties::of(kind).kind, kind);
    EXPECT_STREQ(CollectiveProperties::of(kind).name,
                 lockstep::artifact::EnumNameCollectiveKind(kind));
  }
}

TEST(CollectiveKinds, ReductionsCombineOperands) {
  EXPECT_EQ(kindsWith([](auto &row) { return row.isReduction; }),
            (Names{"all_reduce", "reduce_scatter", "reduce"}));
}

TEST(CollectiveKinds, RootsGiveOrGet) {
  EXPECT_EQ(
      kindsWith([](auto &row) { return row.hasRoot(); }),
      (Names{"reduce", "broadcast", "gather", "scatter", "send", "recv"}));
}

TEST(CollectiveKinds, SomeGiveAllTheSame) {
  EXPECT_EQ(kindsWith([](auto &row) { return row.isSameForAll(); }),
            (Names{"all_reduce", "all_gather", "broadcast"}));
}

TEST(CollectiveKinds, SomeOnlyMoveBytes) {
  EXPECT_EQ(kindsWith([](auto &row) { return row.isMoved(); }),
            (Names{"all_to_all", "send", "recv", "permute"}));
  EXPECT_EQ(kindsWith([](auto &row) { return row.hasOnePeer(); }),
            (Names{"send", "recv", "permute"}));
}

TEST(CollectiveKinds, AxesSayHowResultsAreMade) {
  EXPECT_EQ(kindsWith([](auto &row) { return row.hasAxis(); }),
            (Names{"reduce_scatter", "all_gather", "gather", "scatter",
                   "all_to_all"}));
  EXPECT_EQ(kindsWith([](auto &row) { return row.concatenates(); }),
            (Names{"all_gather", "gather"}));
}

// Results must not alias memory that a member still reads.
TEST(CollectiveKinds, OnlyElementByElementIsInPlace) {
  for (const CollectiveProperties &row : CollectiveProperties::all())
    if (row.canBeInPlace)
      EXPECT_TRUE(row.shape == ShapeRule::same && !row.resultsDiffer)
          << row.name;
}

} // namespace

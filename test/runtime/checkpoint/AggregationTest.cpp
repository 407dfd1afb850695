//===- AggregationTest.cpp - on_read variables in checkpoints -------------===//

#include "TestVariables.h"
#include "data/DataTestSupport.h"

#include "runtime/checkpoint/Aggregation.h"
#include "runtime/checkpoint/Checkpoint.h"

#include <gtest/gtest.h>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using lockstep::artifact::Aggregation;
using lockstep::artifact::ElementType;

namespace {

template <typename T> struct RoundTrip {
  std::vector<T> saved;
  std::vector<std::vector<T>> restored;
};

/// Saves the values of some replicas and restores them for `replicas`.
template <typename T>
RoundTrip<T> roundTrip(ElementType element, Aggregation aggregation,
                       std::vector<std::vector<T>> values, unsigned replicas) {
  TemporaryFolder folder;
  std::vector<std::vector<T>> before(replicas,
                                     std::vector<T>(values.front().size()));
  OnReadVariable<T> saved(element, aggregation, std::move(values)),
      loaded(element, aggregation, std::move(before));
  Expected<std::string> path =
      saveCheckpoint(folder.path, {.step = 1}, saved.views());
  EXPECT_TRUE(path.ok()) << path.status().message();
  Expected<SafetensorsFile> file = SafetensorsFile::open(*path);
  Expected<TrainingState> state = restoreCheckpoint(*path, loaded.views());
  EXPECT_TRUE(state.ok()) << state.status().message();
  return {valuesOf<T>(file->data(*file->find("v"))), std::move(loaded.memory)};
}

using Floats = std::vector<float>;
using Integers = std::vector<int32_t>;

} // namespace

// 5.3: saves the sum; the N that restore divide by their own number.
TEST(Aggregation, SumIsDivided) { // [5.3-checkpoint]
  auto [saved, restored] = roundTrip<float>(ElementType::f32, Aggregation::sum,
                                            {{1, 10}, {2, 20}, {3, 30}}, 4);
  EXPECT_EQ(saved, (Floats{6, 60}));
  EXPECT_EQ(restored, std::vector<Floats>(4, Floats{1.5, 15}));
  EXPECT_EQ(
      roundTrip<float>(ElementType::f32, Aggregation::sum, {{6}}, 1).restored,
      (std::vector<Floats>{{6}}));
}

// 5.3: 7 on two replicas is 3 and 3, and reads 6; below zero towards zero.
TEST(Aggregation, SumOfIntegersIsCutOff) {
  auto [saved, restored] = roundTrip<int32_t>(
      ElementType::i32, Aggregation::sum, {{3, -3}, {4, -4}}, 2);
  EXPECT_EQ(saved, (Integers{7, -7}));
  EXPECT_EQ(restored, (std::vector<Integers>{{3, -3}, {3, -3}}));
}

TEST(Aggregation, MeanAndFirst) {
  auto mean = roundTrip<double>(ElementType::f64, Aggregation::mean,
                                {{1}, {2}, {6}}, 2);
  EXPECT_EQ(mean.saved, (std::vector<double>{3}));
  EXPECT_EQ(mean.restored, (std::vector<std::vector<double>>{{3}, {3}}));
  auto first = roundTrip<float>(ElementType::f32,
                                Aggregation::only_first_replica, {{1}, {2}}, 3);
  EXPECT_EQ(first.saved, Floats{1});
  EXPECT_EQ(first.restored, std::vector<Floats>(3, Floats{1}));
  // `only_first_replica` needs no arithmetic, so it applies to booleans.
  auto flag = roundTrip<uint8_t>(
      ElementType::i1, Aggregation::only_first_replica, {{1}, {0}}, 2);
  EXPECT_EQ(flag.restored, (std::vector<std::vector<uint8_t>>{{1}, {1}}));
}

// In f32, rounded once: 256 + 1 + 1 is 258 in bf16, where 256 + 1 would be 256
// again.
TEST(Aggregation, SixteenBitFloatsAreRoundedOnce) {
  uint16_t one = 0x3f80, twoHundredFiftySix = 0x4380, sum = 0x4381;
  auto [saved, restored] =
      roundTrip<uint16_t>(ElementType::bf16, Aggregation::sum,
                          {{twoHundredFiftySix}, {one}, {one}}, 1);
  EXPECT_EQ(saved, (std::vector<uint16_t>{sum}));
}

// More than a block of a reduction, and no element at all.
TEST(Aggregation, AnySize) {
  std::vector<int64_t> many(100'003);
  for (size_t i = 0; i < many.size(); ++i)
    many[i] = int64_t(i);
  auto [saved, restored] = roundTrip<int64_t>(
      ElementType::i64, Aggregation::sum, {many, many, many, many, many}, 5);
  EXPECT_EQ(saved.back(), 5 * many.back());
  EXPECT_EQ(restored, std::vector(5, many));
  EXPECT_TRUE(roundTrip<float>(ElementType::f32, Aggregation::sum, {{}, {}}, 3)
                  .saved.empty());
}

// Without an aggregation the values are not combined, and fit only their number
// of replicas. [5.3-checkpoint]
TEST(Aggregation, NoneKeepsEachValue) {
  auto [saved, restored] =
      roundTrip<float>(ElementType::f32, Aggregation::none, {{1}, {2}}, 2);
  EXPECT_EQ(saved, (Floats{1, 2}));
  EXPECT_EQ(restored, (std::vector<Floats>{{1}, {2}}));
}

// Initial values are not divided: every replica begins with them. [5.1-initial]
TEST(Aggregation, InitialValuesAreForEach) {
  TemporaryFolder folder;
  Floats six = {6};
  std::string path = folder / "init.safetensors";
  ASSERT_TRUE(
      writeSafetensors(
          path, {{"v", ElementType::f32, {1}, {std::as_bytes(std::span(six))}}},
          {})
          .ok());
  OnReadVariable<float> loaded(ElementType::f32, Aggregation::sum, {{0}, {0}});
  ASSERT_TRUE(loadInitialValues(path, loaded.views()).ok());
  EXPECT_EQ(loaded.memory, (std::vector<Floats>{{6}, {6}}));
}

// Known before the first step, and nothing is written.
TEST(Aggregation, Errors) {
  TemporaryFolder folder;
  OnReadVariable<uint8_t> flags(ElementType::i1, Aggregation::sum, {{1}, {1}});
  OnReadVariable<int32_t> counts(ElementType::i32, Aggregation::mean,
                                 {{1}, {2}});
  std::vector<VariableView> both = {flags.view, counts.view};
  std::string expected =
      "variables without a value to save:\n"
      "  'v': expected numbers for a sum, found 1xi1 [E_DTYPE_UNSUPPORTED]\n"
      "  'v': expected floats for a mean, found 1xi32 [E_MEAN_INT_VAR]";
  EXPECT_EQ(checkAggregation(both).message(), expected);
  EXPECT_EQ(saveCheckpoint(folder / "new", {}, both).status().message(),
            expected);
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
}

//===- GpuAttentionTest.cpp - attention for a library ---------------------===//

#include "runtime/artifact/GpuAttention.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

using namespace lockstep::runtime;
using lockstep::artifact::ElementType;

namespace {

constexpr uint64_t examples = 2, heads = 3, queries = 4, keys = 5, size = 8;

/// [examples, positions, heads, size of a head] in memory.
GpuTensor makeTensor(uint64_t buffer, uint64_t positions) {
  GpuTensor it;
  it.buffer = buffer;
  it.element = uint64_t(ElementType::bf16);
  it.sizes = {examples, heads, positions, size};
  it.strides = {int64_t(positions * heads * size), size, heads * size, 1};
  return it;
}

GpuAttention makeAttention(uint64_t kind = GpuAttention::Gradient) {
  GpuAttention it;
  it.kind = kind;
  it.scaleBits = std::bit_cast<uint64_t>(0.5);
  it.query = makeTensor(0, queries);
  it.key = makeTensor(1, keys);
  it.value = makeTensor(2, keys);
  it.output = makeTensor(3, queries);
  it.statistics.buffer = 4;
  it.statistics.element = uint64_t(ElementType::f32);
  it.statistics.sizes = {examples, heads, queries, 1};
  it.statistics.strides = {heads * queries, queries, 1, 1};
  if (kind == GpuAttention::Forward)
    return it;
  it.cotangent = makeTensor(5, queries);
  it.queryGradient = makeTensor(6, queries);
  it.keyGradient = makeTensor(7, keys);
  it.valueGradient = makeTensor(8, keys);
  return it;
}

constexpr uint64_t ofQueries = 2 * examples * heads * queries * size,
                   ofKeys = 2 * examples * heads * keys * size,
                   ofStatistics = 4 * examples * heads * queries;
constexpr uint64_t bytesOfAttention[] = {ofQueries, ofKeys,       ofKeys,
                                         ofQueries, ofStatistics, ofQueries,
                                         ofQueries, ofKeys,       ofKeys};

std::optional<std::vector<GpuAttention>>
readAttention(const std::vector<GpuAttention> &attentions) {
  std::vector<uint64_t> words;
  for (const GpuAttention &attention : attentions)
    for (uint64_t word : attention.toWords())
      words.push_back(word);
  return readLibraryPhases<GpuAttention>(words, bytesOfAttention, /*phases=*/4);
}

/// Whether an attention of this kind is accepted after a change.
template <typename Change>
bool isAttention(Change change, uint64_t kind = GpuAttention::Gradient) {
  GpuAttention attention = makeAttention(kind);
  change(attention);
  return readAttention({attention}).has_value();
}

TEST(GpuAttention, isReadAsItWasWritten) {
  GpuAttention first = makeAttention(GpuAttention::Forward),
               second = makeAttention();
  second.phase = 3;
  second.isCausal = 1;
  auto found = readAttention({first, second});
  ASSERT_TRUE(found && found->size() == 2);
  EXPECT_EQ((*found)[0].toWords(), first.toWords());
  EXPECT_EQ((*found)[1].toWords(), second.toWords());
  EXPECT_EQ((*found)[1].scale(), 0.5);
  EXPECT_TRUE(readAttention({})->empty());
}

TEST(GpuAttention, thatNoKernelHas) {
  GpuAttention attention = makeAttention();
  EXPECT_FALSE(readAttention({attention, attention})) << "two of one phase";
  uint64_t word = 0;
  EXPECT_FALSE(readLibraryPhases<GpuAttention>({&word, 1}, bytesOfAttention, 4))
      << "a part of one";
  EXPECT_FALSE(isAttention([](GpuAttention &it) { it.phase = 4; }));
  EXPECT_FALSE(isAttention([](GpuAttention &it) { it.kind = 2; }));
  EXPECT_FALSE(isAttention([](GpuAttention &it) { it.isCausal = 2; }));
}

TEST(GpuAttention, ofScales) {
  auto isScale = [](double scale) {
    return isAttention([&](GpuAttention &it) {
      it.scaleBits = std::bit_cast<uint64_t>(scale);
    });
  };
  EXPECT_TRUE(isScale(-2));
  EXPECT_TRUE(isScale(0));
  EXPECT_FALSE(isScale(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(isScale(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(isScale(1e39)) << "infinite in f32";
}

/// What the compiler leaves to generated code, and no kernel has.
TEST(GpuAttention, thatLibrariesDoNotSupport) {
  auto obstacle = [](auto change, uint64_t kind = GpuAttention::Gradient) {
    GpuAttention attention = makeAttention(kind);
    change(attention);
    return attention.findObstacle().value_or("");
  };
  EXPECT_EQ(obstacle([](auto &) {}), "");
  EXPECT_EQ(
      obstacle([](auto &it) { it.query.element = uint64_t(ElementType::f32); }),
      "expected elements of f16 or bf16, found f32");
  for (uint64_t size : {8, 128})
    EXPECT_EQ(obstacle([&](auto &it) { it.query.sizes[3] = size; }), "");
  EXPECT_EQ(
      obstacle([](auto &it) { it.query.sizes[3] = 12; }),
      "expected heads of at most 128 elements, a multiple of 8, found 12");
  EXPECT_EQ(
      obstacle([](auto &it) { it.query.sizes[3] = 136; }),
      "expected heads of at most 128 elements, a multiple of 8, found 136");
  EXPECT_EQ(
      obstacle([](auto &it) { it.scaleBits = std::bit_cast<uint64_t>(1e39); }),
      "expected a scale that f32 has, found 1e+39");
  auto onePosition = [](auto &it) { it.query.sizes[2] = it.key.sizes[2] = 1; };
  EXPECT_EQ(obstacle(onePosition),
            "expected more positions than one for a gradient, found one of "
            "queries and one of keys");
  EXPECT_EQ(obstacle(onePosition, GpuAttention::Forward), "");
}

/// Sizes of each operand that do not fit to those of the others. Buffers are
/// large enough.
TEST(GpuAttention, ofOtherSizes) {
  using Member = GpuTensor GpuAttention::*;
  for (auto kind : {GpuAttention::Forward, GpuAttention::Gradient}) {
    std::vector<Member> members = {&GpuAttention::query, &GpuAttention::key,
                                   &GpuAttention::value, &GpuAttention::output,
                                   &GpuAttention::statistics};
    if (kind == GpuAttention::Gradient)
      members.insert(members.end(),
                     {&GpuAttention::cotangent, &GpuAttention::queryGradient,
                      &GpuAttention::keyGradient,
                      &GpuAttention::valueGradient});
    EXPECT_TRUE(isAttention([](GpuAttention &) {}, kind));
    for (Member member : members)
      for (size_t dim = 0; dim < 4; ++dim) {
        // The last size of statistics is 1.
        bool isOne = (makeAttention(kind).*member).sizes[dim] == 1;
        EXPECT_FALSE(isAttention(
            [&](GpuAttention &it) { (it.*member).sizes[dim] = isOne ? 2 : 1; },
            kind))
            << dim;
        EXPECT_FALSE(isAttention(
            [&](GpuAttention &it) { (it.*member).sizes[dim] = 0; }, kind));
      }
  }
}

TEST(GpuAttention, withOtherTensors) {
  auto accepted = [](auto change) {
    return isAttention([&](GpuAttention &it) { change(it); });
  };
  EXPECT_FALSE(accepted([](auto &it) { it.query.buffer = 9; }));
  EXPECT_FALSE(accepted([](auto &it) { it.key.offset = 2; }))
      << "outside of the buffer";
  EXPECT_FALSE(accepted([](auto &it) { it.value.offset = 1; }));
  EXPECT_FALSE(accepted([](auto &it) { it.output.strides[0] += 1; }))
      << "outside of the buffer";
  EXPECT_FALSE(accepted([](auto &it) { it.cotangent.strides[3] = 0; }));
  EXPECT_FALSE(accepted([](auto &it) { it.cotangent.strides[1] = 4; }))
      << "elements in one place";
  EXPECT_FALSE(accepted([](auto &it) { it.queryGradient.strides[1] = -8; }));
  EXPECT_FALSE(accepted([](auto &it) { it.statistics.offset = 4; }));
  EXPECT_FALSE(accepted([](auto &it) { it.keyGradient.element = 200; }));
  // Those of an attention that is no gradient are not looked at.
  EXPECT_TRUE(isAttention([](GpuAttention &it) { it.cotangent.buffer = 9; },
                          GpuAttention::Forward));
}

TEST(GpuAttention, ofTypes) {
  using enum ElementType;
  auto isReadWith = [](ElementType type, ElementType ofKeys,
                       ElementType ofStatistics) {
    return isAttention([&](GpuAttention &it) {
      for (GpuTensor *tensor :
           {&it.query, &it.value, &it.output, &it.cotangent, &it.queryGradient,
            &it.keyGradient, &it.valueGradient})
        tensor->element = uint64_t(type);
      it.key.element = uint64_t(ofKeys);
      it.statistics.element = uint64_t(ofStatistics);
    });
  };
  EXPECT_TRUE(isReadWith(bf16, bf16, f32));
  EXPECT_TRUE(isReadWith(f16, f16, f32));
  EXPECT_FALSE(isReadWith(f16, bf16, f32));
  EXPECT_FALSE(isReadWith(bf16, bf16, bf16));
  EXPECT_FALSE(isReadWith(i16, i16, f32));
  GpuAttention wide = makeAttention(GpuAttention::Forward);
  for (GpuTensor *tensor : {&wide.query, &wide.key, &wide.value, &wide.output})
    tensor->element = uint64_t(f32);
  constexpr uint64_t large[] = {1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20};
  EXPECT_FALSE(wide.isValid(large));
}

} // namespace

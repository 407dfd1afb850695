//===- GpuConvolutionsTest.cpp - convolutions by a library ----------------===//

#include "runtime/artifact/GpuConvolutions.h"

#include <functional>

#include <gtest/gtest.h>

using namespace lockstep::runtime;
using lockstep::artifact::ElementType;

namespace {

/// Two examples of 9 x 12 with 3 channels, by filters of 3 x 2 with 5 outputs,
/// with strides of 2 and 3, in phase 1. Channels are neighbors in memory, and
/// outputs in the filter.
GpuConvolution makeConvolution() {
  GpuConvolution it;
  constexpr auto f32 = uint64_t(ElementType::f32);
  it.phase = 1;
  it.strides = {2, 3};
  it.dilations = {1, 4};
  it.image = {0, 16, f32, {2, 3, 9, 12}, {9 * 12 * 3, 1, 12 * 3, 3}};
  it.filter = {1, 0, f32, {5, 3, 3, 2}, {1, 5, 2 * 3 * 5, 3 * 5}};
  it.result = {2, 0, f32, {2, 5, 4, 3}, {4 * 3 * 5, 1, 3 * 5, 5}};
  return it;
}

/// The image begins behind 16 bytes.
constexpr uint64_t bytesOfConvolution[] = {
    16 + 2 * 9 * 12 * 3 * 4, 3 * 2 * 3 * 5 * 4, 2 * 4 * 3 * 5 * 4};

std::optional<std::vector<GpuConvolution>>
readConvolutions(const std::vector<GpuConvolution> &convolutions) {
  std::vector<uint64_t> words;
  for (const GpuConvolution &each : convolutions)
    for (uint64_t word : each.toWords())
      words.push_back(word);
  return readLibraryPhases<GpuConvolution>(words, bytesOfConvolution,
                                           /*phases=*/4);
}

bool isAccepted(const std::function<void(GpuConvolution &)> &change) {
  GpuConvolution convolution = makeConvolution();
  change(convolution);
  return readConvolutions({convolution}).has_value();
}

TEST(GpuConvolutions, areReadAsTheyWereWritten) {
  GpuConvolution first = makeConvolution(), second = makeConvolution();
  second.phase = 3;
  second.kind = GpuConvolution::FilterGradient;
  second.roundsFactors = 1;
  auto found = readConvolutions({first, second});
  ASSERT_TRUE(found && found->size() == 2);
  EXPECT_EQ((*found)[0].toWords(), first.toWords());
  EXPECT_EQ((*found)[1].toWords(), second.toWords());
  EXPECT_EQ(&(*found)[0].computed(), &(*found)[0].result);
  EXPECT_EQ(&(*found)[1].computed(), &(*found)[1].filter);
  EXPECT_TRUE(readConvolutions({})->empty());
}

TEST(GpuConvolutions, thatNoKernelHas) {
  GpuConvolution convolution = makeConvolution();
  EXPECT_FALSE(readConvolutions({convolution, convolution}))
      << "two of one phase";
  uint64_t word = 0;
  EXPECT_FALSE(
      readLibraryPhases<GpuConvolution>({&word, 1}, bytesOfConvolution, 4))
      << "a part of one";
  EXPECT_FALSE(isAccepted([](GpuConvolution &it) { it.phase = 4; }));
  EXPECT_FALSE(isAccepted([](GpuConvolution &it) { it.kind = 2; }));
  EXPECT_FALSE(isAccepted([](GpuConvolution &it) { it.roundsFactors = 2; }));
}

TEST(GpuConvolutions, ofOtherSizes) {
  auto accepted = [](auto change) {
    return isAccepted([&](GpuConvolution &it) { change(it); });
  };
  EXPECT_FALSE(accepted([](auto &it) { it.strides[0] = 0; }));
  EXPECT_FALSE(accepted([](auto &it) { it.strides[1] = uint64_t(1) << 31; }));
  EXPECT_FALSE(accepted([](auto &it) { it.dilations[0] = 0; }));
  EXPECT_FALSE(accepted([](auto &it) { it.dilations[1] = UINT64_MAX; }));
  EXPECT_FALSE(accepted([](auto &it) { it.image.sizes[0] = 1; }));
  EXPECT_FALSE(accepted([](auto &it) { it.image.sizes[1] = 2; }));
  EXPECT_FALSE(accepted([](auto &it) { it.filter.sizes[0] = 4; }));
  EXPECT_FALSE(accepted([](auto &it) { it.result.sizes[0] = 0; }));
  EXPECT_FALSE(accepted([](auto &it) { it.image.sizes[2] = 8; }));
  EXPECT_FALSE(accepted([](auto &it) { it.image.sizes[3] = 10; }));
  // The last column is in no window.
  EXPECT_TRUE(accepted([](auto &it) { it.image.sizes[3] = 11; }));
  EXPECT_FALSE(accepted([](auto &it) { it.filter.sizes[2] = 10; }))
      << "larger than the image";
}

TEST(GpuConvolutions, withOtherTensors) {
  auto accepted = [](auto change) {
    return isAccepted([&](GpuConvolution &it) { change(it); });
  };
  EXPECT_FALSE(accepted([](auto &it) { it.image.buffer = 3; }));
  EXPECT_FALSE(accepted([](auto &it) { it.image.offset = 2; }));
  EXPECT_FALSE(accepted([](auto &it) { it.image.offset = 20; }))
      << "outside of the buffer";
  EXPECT_FALSE(accepted([](auto &it) { it.image.offset = UINT64_MAX - 3; }));
  EXPECT_FALSE(accepted([](auto &it) { it.filter.element = 200; }));
  EXPECT_FALSE(accepted([](auto &it) { it.filter.element += 256; }));
  EXPECT_FALSE(accepted([](auto &it) { it.filter.strides[1] = 4; }))
      << "elements in one place";
  EXPECT_FALSE(accepted([](auto &it) { it.result.strides[1] = -1; }));
  EXPECT_FALSE(accepted([](auto &it) { it.result.strides[1] = 0; }));
  EXPECT_FALSE(accepted([](auto &it) { it.result.strides[0] = 61; }))
      << "outside of the buffer";
  EXPECT_FALSE(
      accepted([](auto &it) { it.result.strides[0] = int64_t(1) << 31; }));
}

TEST(GpuConvolutions, ofTypes) {
  auto isReadWith = [](ElementType image, ElementType filter,
                       ElementType result) {
    return isAccepted([&](GpuConvolution &it) {
      it.image.element = uint64_t(image);
      it.filter.element = uint64_t(filter);
      it.result.element = uint64_t(result);
    });
  };
  using enum ElementType;
  EXPECT_TRUE(isReadWith(bf16, bf16, bf16));
  EXPECT_TRUE(isReadWith(f16, f16, f16));
  EXPECT_FALSE(isReadWith(bf16, bf16, f32));
  EXPECT_FALSE(isReadWith(f16, bf16, f16));
  EXPECT_FALSE(isReadWith(i32, i32, i32));
  GpuConvolution wide = makeConvolution();
  for (GpuTensor *tensor : {&wide.image, &wide.filter, &wide.result})
    tensor->element = uint64_t(f64);
  constexpr uint64_t large[] = {1 << 20, 1 << 20, 1 << 20};
  EXPECT_FALSE(wide.isValid(large));
}

TEST(GpuConvolutions, withEpilogues) {
  using enum GpuActivation;
  auto isAcceptedWith = [](const GpuEpilogue &epilogue,
                           ElementType type = ElementType::f32,
                           uint64_t kind = GpuConvolution::Result) {
    return isAccepted([&](GpuConvolution &it) {
      for (GpuTensor *tensor : {&it.image, &it.filter, &it.result})
        tensor->element = uint64_t(type);
      it.kind = kind;
      it.epilogue = epilogue;
    });
  };
  EXPECT_TRUE(isAcceptedWith({1, 0, 16, None}));
  EXPECT_TRUE(isAcceptedWith({1, 1, 0, Relu}));
  EXPECT_FALSE(isAcceptedWith({0, 0, 0, Relu})) << "no engine does it alone";
  EXPECT_FALSE(isAcceptedWith({1, 0, 0, Gelu}));
  EXPECT_FALSE(isAcceptedWith({1, 3, 0, None})) << "there are three buffers";
  EXPECT_FALSE(isAcceptedWith({1, 0, bytesOfConvolution[0], None}));
  EXPECT_FALSE(isAcceptedWith({1, 0, 0, None}, ElementType::bf16));
  EXPECT_FALSE(isAcceptedWith({1, 0, 0, None}, ElementType::f32,
                              GpuConvolution::FilterGradient));
}

} // namespace

//===- CudaAttentionTest.cpp - attention by the stand-in for cuDNN --------===//
//
// What the device `cuda` lets the library compute, against a computation in
// f64, and what it does not.
//
//===----------------------------------------------------------------------===//

#include "CudaAttentionTest.h"

namespace lockstep::runtime::test {
namespace {

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

TEST_F(CudaAttentions, ofEachType) {
  for (ElementType type : {ElementType::bf16, ElementType::f16})
    for (bool isCausal : {false, true})
      expectResults({.type = type, .isCausal = isCausal});
}

TEST_F(CudaAttentions, ofMoreKeysThanQueriesOrLess) {
  for (bool isCausal : {false, true}) {
    expectResults({.queries = 9, .keys = 40, .isCausal = isCausal});
    expectResults({.queries = 40, .keys = 9, .isCausal = isCausal});
    expectResults({.queries = 1, .keys = 8, .isCausal = isCausal});
    expectResults({.queries = 8, .keys = 1, .isCausal = isCausal});
  }
}

TEST_F(CudaAttentions, ofOperandsInOneBuffer) {
  for (bool isCausal : {false, true})
    expectResults({.isCausal = isCausal, .isInterleaved = true});
}

TEST_F(CudaAttentions, ofLargeScores) {
  GpuAttention attention = makeGradient({.isCausal = true});
  attention.scaleBits = std::bit_cast<uint64_t>(100.0);
  Buffers buffers = makeBuffers(attention);
  compute(attention, buffers);
  for (const AttentionOperand &operand : attentionOperands(attention.kind))
    for (double element : loadTensor(attention.*operand.tensor, buffers))
      ASSERT_TRUE(std::isfinite(element)) << operand.text;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Bytes of working memory that a gradient asks for.
uint64_t bytesFor(const std::shared_ptr<CudnnLibrary> &library,
                  const GpuAttention &attention, uint64_t most) {
  CudaAttention phase(library, attention, most);
  std::vector<std::byte *> buffers(9);
  Expected<std::optional<uint64_t>> bytes = phase.prepare(buffers);
  EXPECT_TRUE(bytes && *bytes) << phase.refusal().value_or("");
  return bytes && *bytes ? **bytes : 0;
}

/// The results do not depend on how many examples and heads are computed at a
/// time.
TEST_F(CudaAttentions, inSlices) {
  GpuAttention attention = makeGradient({.examples = 4,
                                         .heads = 6,
                                         .queries = 64,
                                         .keys = 128,
                                         .isCausal = true});
  Buffers given = makeBuffers(attention), whole = given;
  compute(attention, whole);
  // Of the stand-in: gradients of products, and sums of each query.
  constexpr uint64_t matrix = 2 * 64 * 128 + 4 * 64, other = 256;
  // The most heads that fit, and how many a slice has then.
  constexpr std::pair<uint64_t, uint64_t> slices[] = {
      {24, 24}, {23, 12}, {12, 12}, {11, 6}, {6, 6},
      {5, 3},   {3, 3},   {2, 2},   {1, 1}};
  for (auto [most, heads] : slices) {
    uint64_t limit = most * matrix + other;
    EXPECT_EQ(bytesFor(library, attention, limit), heads * matrix + other);
    Buffers sliced = given;
    compute(attention, sliced, limit);
    EXPECT_TRUE(sliced == whole) << most;
  }
  // Nothing is smaller than a head.
  EXPECT_EQ(bytesFor(library, attention, 1000), matrix + other);
}

/// Sizes that are not multiples of blocks need more than is expected at first.
TEST_F(CudaAttentions, inSlicesOfOtherSizes) {
  GpuAttention attention =
      makeGradient({.examples = 2, .heads = 4, .queries = 20, .keys = 20});
  Buffers given = makeBuffers(attention), whole = given;
  compute(attention, whole);
  constexpr uint64_t limit = 4 * 2 * 64 * 128 + 2000;
  EXPECT_EQ(bytesFor(library, attention, limit), 4 * 2 * 64 * 128 + 256 + 512);
  compute(attention, given, limit);
  EXPECT_TRUE(given == whole);
}

/// Slices begin at aligned addresses of statistics.
TEST_F(CudaAttentions, inSlicesOfOddSizes) {
  GpuAttention attention =
      makeGradient({.examples = 1, .heads = 8, .queries = 65, .keys = 128});
  constexpr uint64_t matrix = 2 * 128 * 128;
  EXPECT_EQ(bytesFor(library, attention, 7 * matrix), 4 * matrix + 256 + 1280);
  EXPECT_EQ(bytesFor(library, attention, 3 * matrix), 4 * matrix + 256 + 1280);
  attention =
      makeGradient({.examples = 2, .heads = 3, .queries = 65, .keys = 128});
  EXPECT_EQ(bytesFor(library, attention, matrix), 6 * matrix + 256 + 1792);
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST_F(CudaAttentions, withOtherStrides) {
  auto refused = [&](auto change) {
    GpuAttention attention = makeGradient({});
    change(attention);
    return refusal(attention);
  };
  EXPECT_EQ(refused([](auto &it) { it.key.strides[3] = 8; }),
            "expected a stride of 1 in heads of the key, found 8");
  EXPECT_EQ(refused([](auto &it) { it.value.strides[2] += 4; }),
            "expected a stride of a multiple of 8 elements between positions "
            "of the value, found 52");
  EXPECT_EQ(refused([](auto &it) { it.cotangent.strides[1] = 17; }),
            "expected a stride of a multiple of 8 elements between heads of "
            "the cotangent, found 17");
  EXPECT_EQ(refused([](auto &it) { it.keyGradient.strides[0] += 1; }),
            "expected a stride of a multiple of 8 elements between examples of "
            "the gradient of the key, found 961");
  EXPECT_EQ(refused([](auto &it) { it.statistics.strides[2] = 2; }),
            "expected a stride of 1 between positions of statistics, found 2");
  // There is no other example.
  GpuAttention one = makeGradient({.examples = 1});
  one.query.strides[0] = 1;
  EXPECT_EQ(refusal(one), "");
}

TEST_F(CudaAttentions, atOtherAddresses) {
  EXPECT_EQ(refusal(makeGradient({}), 8),
            "expected an address of the query that is a multiple of 16, found "
            "one 8 bytes behind it");
  GpuAttention attention = makeGradient({});
  attention.statistics.offset = 4;
  EXPECT_EQ(refusal(attention),
            "expected an address of the statistics that is a multiple of 16, "
            "found one 4 bytes behind it");
}

} // namespace
} // namespace lockstep::runtime::test

//===- GpuProductsTest.cpp - products that a library may compute ----------===//

#include "runtime/artifact/GpuProducts.h"

#include <functional>

#include <gtest/gtest.h>

using namespace lockstep::runtime;
using lockstep::artifact::ElementType;

namespace {

/// The product of 32 x 64 and 64 x 48, of three buffers, in phase 1.
GpuProduct makeProduct() {
  GpuProduct product;
  product.phase = 1;
  product.rows = 32;
  product.columns = 48;
  product.depth = 64;
  constexpr auto f32 = uint64_t(ElementType::f32);
  product.left = {0, 16, f32, 64, 1, 0, 0};
  product.right = {1, 0, f32, 1, 64, 0, 0};
  product.result = {2, 0, f32, 48, 1, 0, 0};
  return product;
}

/// The left factor begins behind 16 bytes.
constexpr uint64_t bufferBytes[] = {16 + 32 * 64 * 8, 64 * 48 * 8, 32 * 48 * 8};

std::optional<std::vector<GpuProduct>>
readAll(const std::vector<GpuProduct> &products) {
  std::vector<uint64_t> words;
  for (const GpuProduct &product : products)
    for (uint64_t word : product.toWords())
      words.push_back(word);
  return readLibraryPhases<GpuProduct>(words, bufferBytes, /*phases=*/4);
}

bool isRead(const std::function<void(GpuProduct &)> &change) {
  GpuProduct product = makeProduct();
  change(product);
  return readAll({product}).has_value();
}

TEST(GpuProducts, areReadAsTheyWereWritten) {
  GpuProduct first = makeProduct(), second = makeProduct();
  second.phase = 3;
  second.accumulates = 1;
  auto found = readAll({first, second});
  ASSERT_TRUE(found && found->size() == 2);
  EXPECT_EQ((*found)[0].toWords(), first.toWords());
  EXPECT_EQ((*found)[1].toWords(), second.toWords());
  EXPECT_EQ((*found)[0].left.type(), ElementType::f32);
  EXPECT_TRUE(readAll({})->empty());
}

TEST(GpuProducts, thatNoKernelHas) {
  GpuProduct product = makeProduct();
  EXPECT_FALSE(readAll({product, product})) << "two of one phase";
  uint64_t word = 0;
  EXPECT_FALSE(readLibraryPhases<GpuProduct>({&word, 1}, bufferBytes, 4))
      << "a part of one";
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.phase = 4; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.rows = 0; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.columns = 0; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.depth = uint64_t(1) << 31; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.batches = 0; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.repeats = 0; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.accumulates = 2; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.roundsFactors = 2; }));
}

TEST(GpuProducts, withOtherMatrices) {
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.left.buffer = 3; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.left.offset = 2; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.left.element = 200; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.left.element += 256; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.left.rowStride = 63; }))
      << "rows overlap";
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.right.columnStride = 1; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.right.rowStride = 2; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.right.columnStride = -64; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) { it.right.batchStride = -1; }));
  EXPECT_FALSE(
      isRead([](GpuProduct &it) { it.right.repeatStride = int64_t(1) << 31; }));
  EXPECT_FALSE(isRead([](GpuProduct &it) {
    std::swap(it.result.rowStride, it.result.columnStride);
  })) << "neighbors of the result in memory are in one column";
}

TEST(GpuProducts, outsideOfTheirBuffers) {
  constexpr uint64_t exact[] = {16 + 32 * 64 * 4, 64 * 48 * 4, 32 * 48 * 4};
  auto fits = [&](const std::function<void(GpuProduct &)> &change) {
    GpuProduct product = makeProduct();
    change(product);
    return product.isValid(exact);
  };
  EXPECT_TRUE(fits([](GpuProduct &) {}));
  EXPECT_FALSE(fits([](GpuProduct &it) { it.left.offset += 4; }));
  EXPECT_FALSE(fits([](GpuProduct &it) { it.left.offset = UINT64_MAX - 3; }));
  EXPECT_FALSE(fits([](GpuProduct &it) { it.right.columnStride = 65; }));
  EXPECT_FALSE(fits([](GpuProduct &it) { it.result.rowStride = 49; }));
  EXPECT_FALSE(fits([](GpuProduct &it) {
    it.batches = 2;
    it.result.batchStride = 1;
  }));
  EXPECT_FALSE(fits([](GpuProduct &it) {
    it.repeats = 2;
    it.left.repeatStride = 1;
  }));
  EXPECT_TRUE(fits([](GpuProduct &it) {
    it.rows = 16;
    it.batches = 2;
    it.left.batchStride = 16 * 64;
    it.result.batchStride = 16 * 48;
  }));
  EXPECT_FALSE(fits([](GpuProduct &it) {
    it.batches = it.repeats = INT32_MAX;
    it.result.batchStride = it.result.repeatStride = INT32_MAX;
  }));
}

TEST(GpuProducts, ofTypes) {
  auto isReadWith = [](ElementType left, ElementType right, ElementType result,
                       bool accumulates = false) {
    return isRead([&](GpuProduct &it) {
      it.left.element = uint64_t(left);
      it.right.element = uint64_t(right);
      it.result.element = uint64_t(result);
      it.accumulates = accumulates;
    });
  };
  using enum ElementType;
  EXPECT_TRUE(isReadWith(f64, f64, f64));
  EXPECT_TRUE(isReadWith(f16, f16, f32));
  EXPECT_TRUE(isReadWith(bf16, bf16, bf16));
  EXPECT_TRUE(isReadWith(f16, f16, f32, /*accumulates=*/true));
  EXPECT_FALSE(isReadWith(f16, f16, f16, /*accumulates=*/true))
      << "sums of 16 bits are rounded more than once";
  EXPECT_FALSE(isReadWith(f16, bf16, f32));
  EXPECT_FALSE(isReadWith(f32, f32, f64));
  EXPECT_FALSE(isReadWith(f64, f64, f32));
  EXPECT_FALSE(isReadWith(i32, i32, i32));
}

TEST(GpuProducts, withEpilogues) {
  using enum GpuActivation;
  auto isReadWith = [](
                        const GpuEpilogue &epilogue,
                        const std::function<void(GpuProduct &)> &change =
                            [](GpuProduct &) {}) {
    return isRead([&](GpuProduct &it) {
      it.epilogue = epilogue;
      change(it);
    });
  };
  EXPECT_TRUE(isReadWith({0, 0, 0, Relu}));
  EXPECT_TRUE(isReadWith({1, 0, 16, Gelu}));
  EXPECT_FALSE(isReadWith({2, 0, 0, None}));
  EXPECT_FALSE(isReadWith({0, 0, 16, None})) << "there is no bias";
  EXPECT_FALSE(isReadWith({0, 0, 0, GpuActivation(3)}));
  EXPECT_FALSE(isReadWith({1, 3, 0, None})) << "there are three buffers";
  EXPECT_FALSE(isReadWith({1, 0, 4, None}));
  EXPECT_TRUE(isReadWith({1, 2, bufferBytes[2] - 48 * 4, None}));
  EXPECT_FALSE(isReadWith({1, 2, bufferBytes[2] - 44 * 4, None}));
  EXPECT_FALSE(isReadWith({1, 2, UINT64_MAX - 15, None}));
  EXPECT_FALSE(
      isReadWith({1, 0, 0, None}, [](GpuProduct &it) { it.accumulates = 1; }));
  EXPECT_FALSE(
      isReadWith({0, 0, 0, Relu}, [](GpuProduct &it) { it.batches = 2; }));
  EXPECT_FALSE(
      isReadWith({0, 0, 0, Relu}, [](GpuProduct &it) { it.repeats = 2; }));
  EXPECT_FALSE(isReadWith({0, 0, 0, Relu}, [](GpuProduct &it) {
    for (GpuMatrix *matrix : {&it.left, &it.right, &it.result})
      matrix->element = uint64_t(ElementType::bf16);
  })) << "a sum of 16 bits would be rounded once";
}

} // namespace

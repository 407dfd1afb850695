//===- CudaKernelTest.cpp - kernels that clang has compiled ---------------===//

#include "CudaTest.h"

#include <algorithm>
#include <numeric>

namespace lockstep::standin {
namespace {

class CudaKernel : public CudaTest {
protected:
  void SetUp() override {
    CudaTest::SetUp();
    control = loadFile("control.ptx");
    cooperation = loadFile("cooperation.ptx");
  }

  CUmodule control = nullptr, cooperation = nullptr;
};

std::vector<float> numbers(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = float(i % 17) - 5;
  return values;
}

//===----------------------------------------------------------------------===//
// Control flow and memory
//===----------------------------------------------------------------------===//

TEST_F(CudaKernel, ExecutesEachThreadOnce) {
  constexpr unsigned count = 1000;
  std::vector<float> x = numbers(count), y = numbers(count);
  CUdeviceptr xs = upload(x), ys = upload(y);
  ASSERT_EQ(
      launch(find(control, "saxpy"), 8, 128, nullptr, 2.0f, xs, ys, count),
      CUDA_SUCCESS);
  std::vector<float> found = download<float>(ys, count);
  for (unsigned i = 0; i < count; ++i)
    EXPECT_EQ(found[i], 2 * x[i] + y[i]);
}

TEST_F(CudaKernel, LoopsOfDifferentLength) {
  std::vector<unsigned> start(64), expected(64);
  for (unsigned i = 0; i < 64; ++i) {
    start[i] = i + 1;
    for (unsigned value = i + 1; value != 1; ++expected[i])
      value = value % 2 ? 3 * value + 1 : value / 2;
  }
  CUdeviceptr from = upload(start), to = allocate(256);
  ASSERT_EQ(launch(find(control, "collatz"), 2, 32, nullptr, from, to),
            CUDA_SUCCESS);
  EXPECT_EQ(download<unsigned>(to, 64), expected);
}

TEST_F(CudaKernel, JumpTables) {
  CUdeviceptr x = upload<int>({0, 1, 2, 3, 4, 5, 6, -1}),
              y = upload<int>({8, 8, 8, 8, 8, 8, 8, 8});
  ASSERT_EQ(launch(find(control, "choose"), 1, 8, nullptr, x, y), CUDA_SUCCESS);
  EXPECT_EQ(download<int>(y, 8),
            (std::vector<int>{10, 15, 24, 3, 5, 8 ^ 0x55, -1, -1}));
}

TEST_F(CudaKernel, CallsWithStructures) {
  struct Pair {
    int first;
    double second;
    char tag;
  } pair = {3, 8, 5};
  CUdeviceptr out = allocate(32);
  ASSERT_EQ(launch(find(control, "callFunctions"), 1, 1, nullptr, pair, out),
            CUDA_SUCCESS);
  EXPECT_EQ(download<double>(out, 4), (std::vector<double>{8, 3, 8, 3}));
}

TEST_F(CudaKernel, StructuresAreCopied) {
  struct Eight {
    int values[8];
  } eight = {{1, 2, 3, 4, 5, 6, 7, 8}};
  CUdeviceptr out = allocate(32);
  ASSERT_EQ(launch(find(control, "changeCopies"), 1, 8, nullptr, eight, out),
            CUDA_SUCCESS);
  EXPECT_EQ(download<int>(out, 8),
            (std::vector<int>{106, 109, 112, 115, 118, 121, 116, 111}));
}

TEST_F(CudaKernel, LocalMemory) {
  CUdeviceptr x = upload<int>({1, 2, 3, 4, 5, 6, 7, 8}), y = allocate(32);
  ASSERT_EQ(launch(find(control, "reverse"), 1, 1, nullptr, x, y, 0u),
            CUDA_SUCCESS);
  EXPECT_EQ(download<int>(y, 8), (std::vector<int>{8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST_F(CudaKernel, Variables) {
  CUdeviceptr out = allocate(16), counter = 0;
  size_t bytes = 0;
  CUfunction function = find(control, "readVariables");
  ASSERT_EQ(launch(function, 1, 1, nullptr, out, 1u), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(out, 4),
            (std::vector<float>{20, 30, float('e'), 1.5f}));
  ASSERT_EQ(launch(function, 1, 1, nullptr, out, 1u), CUDA_SUCCESS);
  ASSERT_EQ(cuda.cuModuleGetGlobal_v2(&counter, &bytes, control, "counter"),
            CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(download<int>(counter, 1)[0], 10);
  EXPECT_EQ(cuda.cuModuleGetGlobal_v2(&counter, &bytes, control, "nothing"),
            CUDA_ERROR_NOT_FOUND);
}

// No GPU can do that.
TEST_F(CudaKernel, CallsOfTheHost) {
  static unsigned nullCalls = 0;
  auto *addThree = +[](void *memory) {
    if (memory)
      *static_cast<int *>(memory) += 3;
    else
      ++nullCalls;
  };
  CUdeviceptr x = upload<int>({4});
  CUfunction function = find(control, "callHost");
  ASSERT_EQ(launch(function, 1, 1, nullptr, addThree, x), CUDA_SUCCESS);
  ASSERT_EQ(launch(function, 1, 5, nullptr, addThree, CUdeviceptr(0)),
            CUDA_SUCCESS);
  EXPECT_EQ(download<int>(x, 1)[0], 14);
  EXPECT_EQ(nullCalls, 5u);
}

TEST_F(CudaKernel, Vectors) {
  std::vector<float> x = numbers(128);
  CUdeviceptr from = upload(x), to = allocate(512);
  ASSERT_EQ(launch(find(control, "copyVectors"), 1, 32, nullptr, from, to),
            CUDA_SUCCESS);
  std::vector<float> found = download<float>(to, 128);
  for (size_t i = 0; i < 128; ++i)
    EXPECT_EQ(found[i], x[i / 4 * 4 + 3 - i % 4]);
}

TEST_F(CudaKernel, Products) {
  constexpr unsigned n = 32;
  std::vector<float> a = numbers(n * n), b = numbers(n * n);
  CUdeviceptr as = upload(a), bs = upload(b), cs = allocate(n * n * 4);
  ASSERT_EQ(launch(find(control, "multiply"), n, n, nullptr, as, bs, cs, n),
            CUDA_SUCCESS);
  std::vector<float> found = download<float>(cs, n * n);
  for (unsigned i = 0; i < n * n; ++i) {
    float sum = 0;
    for (unsigned k = 0; k < n; ++k)
      sum += a[i / n * n + k] * b[k * n + i % n];
    EXPECT_EQ(found[i], sum);
  }
}

//===----------------------------------------------------------------------===//
// Cooperation
//===----------------------------------------------------------------------===//

TEST_F(CudaKernel, ReductionsInBlocks) {
  std::vector<float> x = numbers(1024);
  CUdeviceptr from = upload(x), to = allocate(16);
  ASSERT_EQ(launch(find(cooperation, "sumBlocks"), 4, 256, nullptr, from, to),
            CUDA_SUCCESS);
  std::vector<float> found = download<float>(to, 4);
  for (size_t block = 0; block < 4; ++block)
    EXPECT_EQ(found[block],
              std::accumulate(x.begin() + 256 * block,
                              x.begin() + 256 * (block + 1), 0.0f));
}

TEST_F(CudaKernel, MissingBarriersShow) {
  std::vector<float> x(1024, 1);
  CUdeviceptr from = upload(x), to = allocate(16);
  // Some orders of the threads have the right sums nevertheless.
  constexpr int rounds = 16;
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    ASSERT_EQ(launch(find(cooperation, "sumWithoutBarriers"), 4, 256, nullptr,
                     from, to),
              CUDA_SUCCESS);
    wrong += download<float>(to, 4) != std::vector<float>(4, 256);
  }
  EXPECT_GT(wrong, 0);
}

TEST_F(CudaKernel, CallsOfTheHostBetweenBarriers) {
  auto *square = +[](void *memory) {
    int &number = *static_cast<int *>(memory);
    number *= number;
  };
  std::vector<int> values(64), expected(64);
  std::iota(values.begin(), values.end(), 0);
  for (int i = 0; i < 64; ++i)
    expected[63 - i] = i * i;
  CUdeviceptr x = upload(values);
  ASSERT_EQ(launch(find(cooperation, "callHostAndReverse"), 1, 64, nullptr,
                   square, x),
            CUDA_SUCCESS);
  EXPECT_EQ(download<int>(x, 64), expected);
}

TEST_F(CudaKernel, DynamicSharedMemory) {
  std::vector<float> x = numbers(64);
  CUdeviceptr from = upload(x), to = allocate(4);
  CUfunction function = find(cooperation, "sumDynamic");
  unsigned count = 64;
  void *parameters[] = {&from, &to, &count};
  ASSERT_EQ(cuda.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 256, nullptr,
                                parameters, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(download<float>(to, 1)[0],
            std::accumulate(x.begin(), x.end(), 0.0f));
  // More than 48 KiB has to be asked for.
  EXPECT_EQ(cuda.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 100 << 10, nullptr,
                                parameters, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(
      cuda.cuFuncSetAttribute(
          function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10),
      CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 100 << 10, nullptr,
                                parameters, nullptr),
            CUDA_SUCCESS);
}

TEST_F(CudaKernel, Shuffles) {
  std::vector<float> x = numbers(64);
  CUdeviceptr from = upload(x), to = allocate(256);
  ASSERT_EQ(launch(find(cooperation, "sumWarps"), 1, 64, nullptr, from, to),
            CUDA_SUCCESS);
  std::vector<float> found = download<float>(to, 64);
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(found[i], std::accumulate(x.begin() + i / 32 * 32,
                                        x.begin() + (i / 32 + 1) * 32, 0.0f));
  std::vector<int> values(64), expected(64);
  std::iota(values.begin(), values.end(), 3);
  CUdeviceptr integers = upload(values);
  ASSERT_EQ(
      launch(find(cooperation, "scanWarps"), 2, 32, nullptr, integers, to),
      CUDA_SUCCESS);
  for (size_t warp = 0; warp < 2; ++warp)
    std::partial_sum(values.begin() + 32 * warp,
                     values.begin() + 32 * (warp + 1),
                     expected.begin() + 32 * warp);
  EXPECT_EQ(download<int>(to, 64), expected);
}

// Of integers, so that sums are exact in any order.
TEST_F(CudaKernel, ProductsOfWarps) {
  auto multiply = [&](const char *kernel, size_t depth, auto encode) {
    std::vector<float> a, b, c(128), expected(128);
    for (size_t i = 0; i < 16 * depth; ++i)
      a.push_back(float(i * 7 % 23) - 11);
    for (size_t i = 0; i < 8 * depth; ++i)
      b.push_back(float(i * 5 % 17) - 8);
    for (size_t i = 0; i < 128; ++i) {
      c[i] = float(i);
      expected[i] = c[i];
      for (size_t k = 0; k < depth; ++k)
        expected[i] += a[i / 8 * depth + k] * b[i % 8 * depth + k];
    }
    CUdeviceptr sums = upload(c);
    ASSERT_EQ(launch(find(cooperation, kernel), 1, 32, nullptr,
                     upload(encode(a)), upload(encode(b)), sums),
              CUDA_SUCCESS);
    EXPECT_EQ(download<float>(sums, 128), expected);
  };
  multiply("multiplyTf32", 8, [](const std::vector<float> &x) { return x; });
  multiply("multiplyF16", 16, [](const std::vector<float> &x) {
    return std::vector<_Float16>(x.begin(), x.end());
  });
  multiply("multiplyBF16", 16, [](const std::vector<float> &x) {
    std::vector<uint16_t> upper;
    for (float number : x)
      upper.push_back(uint16_t(std::bit_cast<uint32_t>(number) >> 16));
    return upper;
  });
}

// Ties away from zero; infinity, NaN and the largest number that is finite.
TEST_F(CudaKernel, NumbersOfTf32) {
  std::vector<unsigned> x = {0x3F801000, 0xBF801000, 0x3F800FFF, 0x3F801001,
                             0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x00001000};
  CUdeviceptr from = upload(x), to = allocate(32);
  ASSERT_EQ(launch(find(cooperation, "roundToTf32"), 1, 8, nullptr, from, to),
            CUDA_SUCCESS);
  EXPECT_EQ(
      download<unsigned>(to, 8),
      (std::vector<unsigned>{0x3F802000, 0xBF802000, 0x3F800000, 0x3F802000,
                             0x7F800000, 0xFF800000, 0x7F800000, 0x00002000}));
  from = upload<unsigned>({0x7FFFFFFF, 0x7F800001});
  ASSERT_EQ(launch(find(cooperation, "roundToTf32"), 1, 2, nullptr, from, to),
            CUDA_SUCCESS);
  for (float found : download<float>(to, 2))
    EXPECT_NE(found, found);
}

TEST_F(CudaKernel, Votes) {
  std::vector<int> x(32, -1);
  x[3] = x[31] = 5;
  CUdeviceptr from = upload(x), to = allocate(33 * 4);
  ASSERT_EQ(launch(find(cooperation, "vote"), 1, 32, nullptr, from, to),
            CUDA_SUCCESS);
  std::vector<unsigned> expected(33, 1);
  expected[0] = 0x80000008;
  EXPECT_EQ(download<unsigned>(to, 33), expected);
}

TEST_F(CudaKernel, AtomicOperations) {
  constexpr unsigned count = 4096;
  std::vector<int> x(count);
  std::iota(x.begin(), x.end(), 0);
  CUdeviceptr from = upload(x), histogram = upload(std::vector<int>(8, 0));
  CUdeviceptr total = upload<uint64_t>({0}), sum = upload<float>({0});
  CUdeviceptr most = upload<int>({-1});
  ASSERT_EQ(launch(find(cooperation, "count"), count / 64, 64, nullptr, from,
                   histogram, total, sum),
            CUDA_SUCCESS);
  ASSERT_EQ(
      launch(find(cooperation, "maximum"), count / 64, 64, nullptr, from, most),
      CUDA_SUCCESS);
  EXPECT_EQ(download<int>(histogram, 8), std::vector<int>(8, count / 8));
  EXPECT_EQ(download<uint64_t>(total, 1)[0], uint64_t(count) * (count - 1) / 2);
  EXPECT_EQ(download<float>(sum, 1)[0], count / 2);
  EXPECT_EQ(download<int>(most, 1)[0], int(count) - 1);
}

} // namespace
} // namespace lockstep::standin

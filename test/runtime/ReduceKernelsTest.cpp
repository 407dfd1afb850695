//===- ReduceKernelsTest.cpp - the arithmetic of reductions ---------------===//

#include "TestProgram.h"

#include "runtime/collectives/ReduceTree.h"
#include "runtime/device/cpu/CpuBinary.h"

#include <cmath>
#include <random>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

// All levels of x86-64 that this CPU supports have bitwise equal results,
// including special values.
TEST(ReduceKernels, levelsAgree) {
  constexpr int64_t count = 1037;
  std::mt19937 random(3);
  std::vector<const char *> levels = {"x86-64"};
  for (const char *level : {"x86-64-v3", "x86-64-v4"})
    if (cpuSupportsTarget(level))
      levels.push_back(level);
  for (int e = 1; e <= int(ElementType::MAX); ++e)
    for (int r = 1; r <= int(Reduction::MAX); ++r) {
      auto element = ElementType(e);
      std::vector<std::vector<std::byte>> sources(
          7, std::vector<std::byte>(count * 8));
      std::vector<const std::byte *> pointers;
      for (auto &source : sources) {
        for (std::byte &byte : source)
          byte = std::byte(random());
        pointers.push_back(source.data());
      }
      std::vector<std::vector<std::byte>> results;
      for (const char *level : levels) {
        const ReduceFunctions &functions =
            reduceFunctions(element, Reduction(r), level);
        std::vector<std::byte> acc(count * 8), out(count * 8),
            scratch(reduceScratchBlocks(7) * reduceBlockBytes);
        reduceTree(functions, acc.data(), pointers.data(), 7, count,
                   scratch.data());
        functions.store(out.data(), acc.data(), count);
        results.push_back(std::move(out));
      }
      // Which NaN comes out of two is not defined; that one comes out is.
      auto same = [&](const std::byte *a, const std::byte *b) {
        uint64_t size = elementSize(element);
        if (std::memcmp(a, b, size) == 0)
          return true;
        float x, y;
        double u, v;
        switch (element) {
        case ElementType::f32:
          std::memcpy(&x, a, 4), std::memcpy(&y, b, 4);
          return std::isnan(x) && std::isnan(y);
        case ElementType::f64:
          std::memcpy(&u, a, 8), std::memcpy(&v, b, 8);
          return std::isnan(u) && std::isnan(v);
        case ElementType::f16:
        case ElementType::bf16: {
          uint16_t p, q,
              infinity = element == ElementType::f16 ? 0x7c00 : 0x7f80;
          std::memcpy(&p, a, 2), std::memcpy(&q, b, 2);
          return (p & 0x7fff) > infinity && (q & 0x7fff) > infinity;
        }
        default:
          return false;
        }
      };
      for (const auto &result : results)
        for (int64_t i = 0; i < count; ++i)
          ASSERT_TRUE(
              same(result.data() + i * int64_t(elementSize(element)),
                   results[0].data() + i * int64_t(elementSize(element))))
              << elementName(element) << " "
              << artifact::EnumNameReduction(Reduction(r));
    }
}

// Five values of one half ulp each, added to 1 in f16: adding in f16 would lose
// all of them.
TEST(ReduceKernels, sixteenBitsAccumulateInThirtyTwo) {
  const ReduceFunctions &functions =
      reduceFunctions(ElementType::f16, Reduction::sum);
  _Float16 one = 1, half = _Float16(1.0f / 2048);
  const std::byte *sources[6];
  for (auto &source : sources)
    source = reinterpret_cast<const std::byte *>(&half);
  sources[0] = reinterpret_cast<const std::byte *>(&one);
  std::vector<std::byte> scratch(reduceScratchBlocks(6) * reduceBlockBytes);
  float sum;
  _Float16 rounded;
  reduceTree(functions, reinterpret_cast<std::byte *>(&sum), sources, 6, 1,
             scratch.data());
  functions.store(&rounded, &sum, 1);
  EXPECT_EQ(sum, 1.0f + 5.0f / 2048);
  EXPECT_EQ(float(rounded), float(_Float16(1.0f + 5.0f / 2048)));
}

} // namespace

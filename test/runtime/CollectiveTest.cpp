//===- CollectiveTest.cpp - every collective against a plain reference ----===//

#include "RandomValues.h"
#include "TestProgram.h"

#include <algorithm>
#include <numeric>
#include <span>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

//===----------------------------------------------------------------------===//
// A reference that is written from the definition: recursive
//===----------------------------------------------------------------------===//

template <typename A> A apply(Reduction reduction, A a, A b) {
  switch (reduction) {
  case Reduction::product:
    return A(a * b);
  case Reduction::min:
    return std::min(a, b);
  case Reduction::max:
    return std::max(a, b);
  default:
    return A(a + b);
  }
}

/// Of operands of one size, element by element.
template <typename A>
std::vector<A> reduceReference(Reduction reduction,
                               std::span<const std::vector<A>> operands) {
  if (operands.size() == 1)
    return operands[0];
  size_t low = 1;
  while (low * 2 < operands.size())
    low *= 2;
  std::vector<A> result = reduceReference(reduction, operands.first(low)),
                 high = reduceReference(reduction, operands.subspan(low));
  std::ranges::transform(result, high, result.begin(),
                         [&](A a, A b) { return apply(reduction, a, b); });
  return result;
}

float fromBFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}
uint16_t toBFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// How a type is widened before it is reduced, and rounded after.
template <typename T> struct Plain {
  using Storage = T;
  using Result = T;
  using Accumulator = T;
  static T widen(T value) { return value; }
  static T narrow(T value) { return value; }
};
struct Half {
  using Storage = _Float16;
  using Result = _Float16;
  using Accumulator = float;
  static float widen(_Float16 value) { return float(value); }
  static _Float16 narrow(float value) { return _Float16(value); }
};
struct BFloat {
  using Storage = uint16_t;
  using Result = uint16_t;
  using Accumulator = float;
  static float widen(uint16_t value) { return fromBFloat(value); }
  static uint16_t narrow(float value) { return toBFloat(value); }
};

/// Results are f32, not rounded.
template <typename Narrow> struct Unrounded : Narrow {
  using Result = float;
  static float narrow(float value) { return value; }
};

template <typename S> S randomValue(std::mt19937 &random, bool isBFloat) {
  if (isBFloat)
    return S(toBFloat(randomReal(random)));
  if constexpr (std::is_integral_v<S>)
    return S(std::uniform_int_distribution<int>(0, 6)(random));
  else
    return S(randomReal(random));
}

/// One all_reduce of two contiguous operands and a separate one, on `replicas`
/// replicas and `workers` workers; results must equal the reference bit for
/// bit.
template <typename Type>
void checkAllReduce(ElementType element, Reduction reduction, uint32_t replicas,
                    unsigned workers, int64_t size, bool shared) {
  using S = typename Type::Storage;
  using R = typename Type::Result;
  ElementType resultElement = std::is_same_v<S, R> ? element : ElementType::f32;
  TestProgram p(replicas);
  Space result = shared ? Space::shared : Space::replica;
  uint32_t a = p.variable("a", element, {size}, /*perReplica=*/true);
  uint32_t b = p.variable("b", element, {64 / int64_t(sizeof(S))}, true);
  uint32_t ra = p.buffer(result, resultElement, {size});
  uint32_t rb = p.buffer(result, resultElement, {64 / int64_t(sizeof(S))});
  p.output("a", ra);
  p.output("b", rb);
  uint32_t channel = p.channel();
  p.start(CollectiveKind::all_reduce, reduction, channel, {a, b}, {ra, rb});
  p.wait(channel);
  p.ret();
  auto session = p.session({.workers = workers});
  ASSERT_TRUE(session);
  std::mt19937 random(7);
  std::vector<std::vector<S>> values[2];
  for (uint32_t r = 0; r < replicas; ++r)
    for (int operand = 0; operand < 2; ++operand) {
      std::span<std::byte> bytes = session->variable(operand ? "b" : "a", r);
      std::vector<S> drawn(bytes.size() / sizeof(S));
      for (S &value : drawn)
        value = randomValue<S>(random, element == ElementType::bf16);
      std::memcpy(bytes.data(), drawn.data(), bytes.size());
      values[operand].push_back(std::move(drawn));
    }
  Status status = session->run("main");
  ASSERT_TRUE(status.ok()) << status.message();
  for (int operand = 0; operand < 2; ++operand) {
    using A = typename Type::Accumulator;
    std::vector<std::vector<A>> operands;
    for (const std::vector<S> &narrow : values[operand]) {
      std::vector<A> &wide = operands.emplace_back(narrow.size());
      std::ranges::transform(narrow, wide.begin(), Type::widen);
    }
    std::vector<A> reduced =
        reduceReference(reduction, std::span<const std::vector<A>>(operands));
    std::vector<R> expected(reduced.size());
    std::ranges::transform(reduced, expected.begin(), Type::narrow);
    for (uint32_t r = 0; r < replicas; ++r) {
      std::span<const std::byte> found = session->output(0, operand, r);
      ASSERT_EQ(found.size(), expected.size() * sizeof(R));
      ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size()), 0)
          << elementName(element) << " operand " << operand << " replica " << r
          << " of " << replicas << ", " << workers << " workers";
    }
  }
}

/// Replicas and workers.
class Collectives
    : public testing::TestWithParam<std::tuple<uint32_t, unsigned>> {
protected:
  uint32_t replicas = std::get<0>(GetParam());
  unsigned workers = std::get<1>(GetParam());
};

INSTANTIATE_TEST_SUITE_P(All, Collectives,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 8, 64),
                                          testing::Values(1, 2)));

// A large one has several tiles and a ragged last block; the result is written
// once.
TEST_P(Collectives, allReduceSharedResult) {
  checkAllReduce<Plain<float>>(ElementType::f32, Reduction::sum, replicas,
                               workers, 10001, true);
}

TEST_P(Collectives, allReducePrivateResults) {
  checkAllReduce<Plain<float>>(ElementType::f32, Reduction::sum, replicas,
                               workers, 10001, false);
}

TEST_P(Collectives, allReduceSixteenBitFloats) {
  checkAllReduce<Half>(ElementType::f16, Reduction::sum, replicas, workers,
                       5003, true);
  checkAllReduce<BFloat>(ElementType::bf16, Reduction::sum, replicas, workers,
                         5003, true);
  checkAllReduce<BFloat>(ElementType::bf16, Reduction::max, replicas, workers,
                         77, false);
  for (bool shared : {true, false}) {
    checkAllReduce<Unrounded<Half>>(ElementType::f16, Reduction::sum, replicas,
                                    workers, 5003, shared);
    checkAllReduce<Unrounded<BFloat>>(ElementType::bf16, Reduction::sum,
                                      replicas, workers, 5003, shared);
  }
}

TEST_P(Collectives, allReduceEveryReduction) {
  for (Reduction reduction :
       {Reduction::sum, Reduction::product, Reduction::min, Reduction::max}) {
    checkAllReduce<Plain<float>>(ElementType::f32, reduction, replicas, workers,
                                 100, true);
    checkAllReduce<Plain<double>>(ElementType::f64, reduction, replicas,
                                  workers, 100, true);
    checkAllReduce<Plain<int32_t>>(
        ElementType::i32,
        reduction == Reduction::product ? Reduction::sum : reduction, replicas,
        workers, 100, true);
    checkAllReduce<Plain<uint64_t>>(ElementType::u64, reduction, replicas,
                                    workers, 100, false);
    checkAllReduce<Plain<uint8_t>>(ElementType::u8, reduction, replicas,
                                   workers, 100, true);
    checkAllReduce<Plain<uint16_t>>(ElementType::u16, Reduction::sum, replicas,
                                    workers, 100, true);
  }
  checkAllReduce<Plain<int64_t>>(ElementType::i64, Reduction::min, replicas,
                                 workers, 100, true);
  checkAllReduce<Plain<int8_t>>(ElementType::i8, Reduction::max, replicas,
                                workers, 100, false);
}

// The operand is the result: each replica's copy is replaced by the sum.
TEST_P(Collectives, allReduceInPlace) {
  TestProgram p(replicas);
  uint32_t a = p.variable("a", ElementType::i32, {9000}, true);
  uint32_t channel = p.channel();
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {a});
  p.wait(channel);
  p.ret();
  auto session = p.session({.workers = workers});
  for (uint32_t r = 0; r < replicas; ++r) {
    auto *values =
        reinterpret_cast<int32_t *>(session->variable("a", r).data());
    for (int i = 0; i < 9000; ++i)
      values[i] = i + int(r);
  }
  ASSERT_TRUE(session->run("main").ok());
  for (uint32_t r = 0; r < replicas; ++r) {
    auto *values =
        reinterpret_cast<int32_t *>(session->variable("a", r).data());
    for (int i = 0; i < 9000; ++i)
      ASSERT_EQ(values[i],
                i * int(replicas) + int(replicas * (replicas - 1) / 2));
  }
}

// Gathering along axis 1 interleaves the rows of the operands.
TEST_P(Collectives, allGatherAlongAxes) {
  for (int32_t axis : {0, 1, 2})
    for (bool shared : {true, false}) {
      std::vector<int64_t> shape = {3, 4, 5}, gathered = shape;
      gathered[size_t(axis)] *= replicas;
      TestProgram p(replicas);
      uint32_t a = p.variable("a", ElementType::i32, shape, true);
      uint32_t r = p.buffer(shared ? Space::shared : Space::replica,
                            ElementType::i32, gathered);
      p.output("r", r);
      uint32_t channel = p.channel();
      p.start(CollectiveKind::all_gather, Reduction::none, channel, {a}, {r}, 0,
              axis);
      p.wait(channel);
      p.ret();
      auto session = p.session({.workers = workers});
      for (uint32_t i = 0; i < replicas; ++i)
        std::iota(
            reinterpret_cast<int32_t *>(session->variable("a", i).data()),
            reinterpret_cast<int32_t *>(session->variable("a", i).data()) + 60,
            int(i) * 1000);
      ASSERT_TRUE(session->run("main").ok());
      for (uint32_t i = 0; i < replicas; ++i) {
        auto *found = reinterpret_cast<const int32_t *>(
            session->output(0, "r", i).data());
        for (int64_t x = 0; x < gathered[0]; ++x)
          for (int64_t y = 0; y < gathered[1]; ++y)
            for (int64_t z = 0; z < gathered[2]; ++z) {
              int64_t position[3] = {x, y, z};
              int64_t rank = position[axis] / shape[size_t(axis)];
              position[axis] %= shape[size_t(axis)];
              int64_t expected = rank * 1000 +
                                 (position[0] * 4 + position[1]) * 5 +
                                 position[2];
              ASSERT_EQ(found[(x * gathered[1] + y) * gathered[2] + z],
                        expected);
            }
      }
    }
}

// Each replica sends rank + 1 rows (axis 0) or columns (axis 1); sizes are in a
// register.
TEST_P(Collectives, allGatherRagged) {
  for (int32_t axis : {0, 1}) {
    int64_t most = replicas, total = int64_t(replicas) * (replicas + 1) / 2;
    TestProgram p(replicas);
    uint32_t size = p.reg(), all = p.reg();
    uint32_t count = p.variable("count", ElementType::i64, {}, true);
    uint32_t sum = p.variable("sum", ElementType::i64, {});
    auto shape = [&](int64_t) {
      return axis == 0 ? std::vector<int64_t>{-1, 3}
                       : std::vector<int64_t>{3, -1};
    };
    auto registers = [&](uint32_t index) {
      return axis == 0 ? std::vector<int32_t>{int32_t(index), -1}
                       : std::vector<int32_t>{-1, int32_t(index)};
    };
    uint32_t data = p.variable("data", ElementType::i32, {3 * most}, true);
    p.program->buffers[data]->type->shape = shape(0);
    p.program->buffers[data]->size_registers = registers(size);
    uint32_t result = p.dynamicBuffer(Space::shared, ElementType::i32, shape(0),
                                      registers(all), uint64_t(12 * total));
    p.output("result", result);
    p.loadRegister(size, count);
    p.loadRegister(all, sum);
    uint32_t channel = p.channel();
    p.start(CollectiveKind::all_gather, Reduction::none, channel, {data},
            {result}, 0, axis);
    p.wait(channel);
    p.ret();
    auto session = p.session({.workers = workers});
    std::memcpy(session->variable("sum").data(), &total, 8);
    for (uint32_t r = 0; r < replicas; ++r) {
      int64_t mine = r + 1;
      std::memcpy(session->variable("count", r).data(), &mine, 8);
      auto *values =
          reinterpret_cast<int32_t *>(session->variable("data", r).data());
      for (int64_t i = 0; i < 3 * mine; ++i)
        values[i] = int32_t(r * 1000 + i);
    }
    Status status = session->run("main");
    ASSERT_TRUE(status.ok()) << status.message();
    std::span<const std::byte> bytes = session->output(0, "result");
    ASSERT_EQ(bytes.size(), size_t(12 * total));
    EXPECT_EQ(session->outputShape(0, 0),
              axis == 0 ? (std::vector<int64_t>{total, 3})
                        : (std::vector<int64_t>{3, total}));
    auto *found = reinterpret_cast<const int32_t *>(bytes.data());
    for (int64_t row = 0, at = 0; row < (axis == 0 ? 1 : 3); ++row)
      for (int64_t r = 0; r < int64_t(replicas); ++r)
        for (int64_t i = 0; i < (axis == 0 ? 3 : 1) * (r + 1); ++i)
          ASSERT_EQ(found[at++], r * 1000 + row * (r + 1) + i);
  }
}

TEST_P(Collectives, reduceScatterAndBroadcast) {
  TestProgram p(replicas);
  uint32_t a =
      p.variable("a", ElementType::f32, {int64_t(replicas) * 5000}, true);
  uint32_t r = p.buffer(Space::replica, ElementType::f32, {5000});
  uint32_t b = p.buffer(Space::replica, ElementType::f32, {5000});
  p.output("r", r);
  p.output("b", b);
  uint32_t scatter = p.channel(), broadcast = p.channel();
  p.start(CollectiveKind::reduce_scatter, Reduction::sum, scatter, {a}, {r});
  p.wait(scatter);
  p.start(CollectiveKind::broadcast, Reduction::none, broadcast, {r}, {b});
  p.wait(broadcast);
  p.ret();
  auto session = p.session({.workers = workers});
  for (uint32_t i = 0; i < replicas; ++i) {
    auto *values = reinterpret_cast<float *>(session->variable("a", i).data());
    for (uint32_t j = 0; j < replicas * 5000; ++j)
      values[j] = float(j % 1000 + i);
  }
  ASSERT_TRUE(session->run("main").ok());
  for (uint32_t i = 0; i < replicas; ++i) {
    auto *found =
        reinterpret_cast<const float *>(session->output(0, "r", i).data());
    auto *copied =
        reinterpret_cast<const float *>(session->output(0, "b", i).data());
    for (uint32_t j = 0; j < 5000; ++j) {
      float expected = 0;
      for (uint32_t k = 0; k < replicas; ++k)
        expected += float((i * 5000 + j) % 1000 + k);
      ASSERT_EQ(found[j], expected);
      ASSERT_EQ(copied[j],
                float(replicas * (j % 1000) + replicas * (replicas - 1) / 2));
    }
  }
}

// Two halves of the replicas reduce on their own; results stay private.
TEST_P(Collectives, subgroups) {
  if (replicas < 2)
    return;
  TestProgram p(replicas);
  uint32_t a = p.variable("a", ElementType::i32, {10}, true);
  std::vector<uint32_t> low, high;
  for (uint32_t r = 0; r < replicas; ++r)
    (r < replicas / 2 ? low : high).push_back(r);
  for (const auto &ranks : {low, high}) {
    uint32_t channel = p.channel(), group = p.group(ranks);
    p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {a},
            group);
    p.wait(channel);
    p.barrier(p.channel(), group);
  }
  p.ret();
  auto session = p.session({.workers = workers});
  for (int step = 0; step < 2; ++step) {
    for (uint32_t r = 0; r < replicas; ++r)
      for (int i = 0; i < 10; ++i)
        reinterpret_cast<int32_t *>(session->variable("a", r).data())[i] =
            int(r);
    ASSERT_TRUE(session->run("main").ok());
    for (uint32_t r = 0; r < replicas; ++r) {
      const auto &ranks = r < replicas / 2 ? low : high;
      EXPECT_EQ(
          reinterpret_cast<int32_t *>(session->variable("a", r).data())[9],
          std::accumulate(ranks.begin(), ranks.end(), 0));
    }
  }
}

} // namespace

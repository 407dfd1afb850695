//===- FiniteTest.cpp - where a NaN or an infinity comes from -------------===//

#include "TestProgram.h"

#include "runtime/executor/FiniteChecker.h"

#include <cmath>
#include <limits>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <typename T>
uint64_t first(ElementType element, const std::vector<T> &values) {
  return firstNonFinite(element,
                        reinterpret_cast<const std::byte *>(values.data()),
                        values.size());
}

TEST(FirstNonFinite, ofEachType) {
  EXPECT_EQ(first<float>(ElementType::f32,
                         {0, -1, std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::denorm_min()}),
            4u);
  EXPECT_EQ(first<float>(ElementType::f32, {0, -infinity, NAN}), 1u);
  EXPECT_EQ(first<double>(ElementType::f64, {1e308, std::nan("")}), 1u);
  EXPECT_EQ(first<double>(ElementType::f64, {1e308}), 1u);
  // The largest, -infinity, a NaN.
  EXPECT_EQ(first<uint16_t>(ElementType::f16, {0x7bff, 0xfc00}), 1u);
  EXPECT_EQ(first<uint16_t>(ElementType::bf16, {0x7f7f, 0x7fff}), 1u);
  EXPECT_EQ(first<uint16_t>(ElementType::bf16, {0x7c00}), 1u);
  EXPECT_EQ(first<float>(ElementType::f32, {}), 0u);
}

// In long tensors, wherever it is.
TEST(FirstNonFinite, everywhere) {
  std::vector<float> values(5000, 1);
  for (size_t i : {0, 1023, 1024, 4095, 4999}) {
    std::vector<float> changed = values;
    changed[i] = NAN;
    changed.back() = NAN;
    EXPECT_EQ(first(ElementType::f32, changed), i);
  }
  EXPECT_EQ(first(ElementType::f32, values), values.size());
}

void set(std::span<std::byte> variable, size_t index, float value) {
  std::memcpy(variable.data() + index * sizeof(float), &value, sizeof(value));
}

class Finite : public testing::TestWithParam<unsigned> {
protected:
  SessionOptions options() const {
    return {.workers = GetParam(), .checkFinite = true};
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, Finite, testing::Values(1, 3));

// A kernel that has read a NaN is distinguished from one that created it.
TEST_P(Finite, whatWasReadIsReportedToo) {
  TestProgram p(3);
  uint32_t a = p.variable("a", ElementType::f32, {2, 8192}, true);
  uint32_t b = p.buffer(Space::replica, ElementType::f32, {2, 8192});
  p.launch("twice_tiles", {a}, {b});
  p.output("b", b);
  p.ret();
  auto session = p.session(options());
  EXPECT_TRUE(session->run("main").ok());
  set(session->variable("a", 1), 8200, -infinity);
  Status status = session->run("main");
  EXPECT_EQ(status.code(), StatusCode::nonFinite);
  EXPECT_EQ(status.message(),
            "train.py:42: launch 'twice_tiles' has written -inf: replica 1, "
            "buffer 1 (output 'b'), element [1, 8] of "
            "2x8192xf32, in command 0 of program 'main'; it has read -inf: "
            "buffer 0 (variable 'a'), element [1, 8] of "
            "2x8192xf32");
  EXPECT_EQ(session->run("main").code(), StatusCode::poisoned);
}

// A buffer that a kernel has overwritten is not reported as read.
TEST_P(Finite, inPlace) {
  TestProgram p(1);
  uint32_t a = p.variable("a", ElementType::f32, {64 * 256});
  p.once(p.channel());
  p.launch("twice_tiles", {a}, {a});
  p.endOnce();
  p.ret();
  auto session = p.session(options());
  set(session->variable("a"), 300, 3e38f);
  Status status = session->run("main");
  EXPECT_EQ(status.message(),
            "train.py:42: launch 'twice_tiles' has written inf: replica 0, "
            "buffer 0 (variable 'a'), element [300] of "
            "16384xf32, in command 1 of program 'main'");
  EXPECT_FALSE(session->variablesIntact());
}

// Finite operands whose sum is not: the collective is the origin.
TEST_P(Finite, collective) {
  TestProgram p(3);
  uint32_t a = p.variable("a", ElementType::f32, {16}, true);
  uint32_t sum = p.buffer(Space::shared, ElementType::f32, {16});
  uint32_t channel = p.channel();
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {sum});
  p.wait(channel);
  p.ret();
  auto session = p.session(options());
  for (unsigned replica = 0; replica < 3; ++replica)
    set(session->variable("a", replica), 5, 3e38f);
  Status status = session->run("main");
  EXPECT_EQ(status.code(), StatusCode::nonFinite);
  std::string text = status.message();
  EXPECT_TRUE(text.starts_with(
      "train.py:42: start all_reduce sum channel 0 has written inf: replica "))
      << text;
  EXPECT_TRUE(text.ends_with(
      ", buffer 1, element [5] of 16xf32, in command 0 of program 'main'"))
      << text;
}

// Only the root of a reduce gets a result: the buffers of others are ignored.
TEST_P(Finite, resultsOfOthersThanTheRoot) {
  TestProgram p(3);
  uint32_t a = p.variable("a", ElementType::f32, {16}, true);
  uint32_t old = p.variable("old", ElementType::f32, {16}, true);
  uint32_t sum = p.buffer(Space::replica, ElementType::f32, {16});
  uint32_t channel = p.channel();
  p.copy(old, sum);
  p.start(CollectiveKind::reduce, Reduction::sum, channel, {a}, {sum}, 0, 0,
          /*root=*/1);
  p.wait(channel);
  p.ret();
  auto session = p.session(options());
  set(session->variable("old", 0), 3, NAN);
  Status status = session->run("main");
  EXPECT_TRUE(status.ok()) << status.message();
  set(session->variable("a", 2), 3, NAN);
  status = session->run("main");
  EXPECT_TRUE(status.message().starts_with(
      "train.py:42: start reduce sum channel 0 has written nan: replica 1,"))
      << status.message();
}

// Of a tensor of dynamic size only the current elements are checked, not the
// whole buffer.
TEST_P(Finite, dynamicSizes) {
  TestProgram p(1);
  uint32_t n = p.reg();
  uint32_t a = p.variable("a", ElementType::f32, {8}, true);
  uint32_t room = p.buffer(Space::replica, ElementType::f32, {8});
  uint32_t part =
      p.dynamicBuffer(Space::replica, ElementType::f32, {-1}, {int32_t(n)}, 32);
  p.program->buffers[part]->offset = p.program->buffers[room]->offset;
  p.copy(a, room);
  p.setRegister(n, 4);
  p.launch("nothing", {}, {part});
  p.setRegister(n, 6);
  p.launch("nothing", {}, {part});
  p.ret();
  auto session = p.session(options());
  set(session->variable("a"), 7, NAN);
  EXPECT_TRUE(session->run("main").ok());
  set(session->variable("a"), 5, NAN);
  std::string text = session->run("main").message();
  EXPECT_NE(text.find("element [5] of 6xf32, in command 4"), std::string::npos)
      << text;
}

} // namespace

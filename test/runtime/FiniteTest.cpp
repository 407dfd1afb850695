//===- FiniteTest.cpp - where a NaN or an infinity comes from -------------===//

#include "Devices.h"
#include "TestProgram.h"

#include "runtime/device/DeviceQueues.h"
#include "runtime/device/FiniteSearch.h"
#include "runtime/executor/Cluster.h"

#include <cmath>
#include <limits>
#include <random>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The index of the first value that is not finite; their number if all are.
template <typename T>
uint64_t first(ElementType element, const std::vector<T> &values) {
  NonFinite found;
  searchOnHost({element, values.size(),
                reinterpret_cast<const std::byte *>(values.data()), &found, 0});
  return found.isFound() ? found.element() : values.size();
}

TEST(FiniteSearches, ofEachType) {
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
TEST(FiniteSearches, everywhere) {
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

//===----------------------------------------------------------------------===//
// On devices with queues
//===----------------------------------------------------------------------===//

class FiniteOnDevices : public testing::TestWithParam<std::string> {
protected:
  SessionOptions options() const {
    return {.workers = 2, .device = GetParam(), .checkFinite = true};
  }
};
INSTANTIATE_TEST_SUITE_P(OnDevices, FiniteOnDevices,
                         testing::ValuesIn(devicesWithQueues(4001, 2)));

/// Executes searches of one finding, in order, on a device.
NonFinite searchOn(Device &device, std::span<const FiniteSearch> searches) {
  NonFinite result;
  EXPECT_TRUE(transfer(device, [&](Queue &queue) {
                std::vector<std::unique_ptr<DeviceMemory>> memories;
                std::unique_ptr<DeviceMemory> finding =
                    *device.allocate(1, sizeof(result));
                queue.fill(finding->block(0), sizeof(result), ~0u);
                for (FiniteSearch search : searches) {
                  uint64_t bytes =
                      search.elements * elementSize(search.element);
                  memories.push_back(*device.allocate(1, bytes));
                  queue.upload(memories.back()->block(0), search.tensor, bytes);
                  search.tensor = memories.back()->block(0);
                  search.finding =
                      reinterpret_cast<NonFinite *>(finding->block(0));
                  queue.search(search);
                }
                queue.download(reinterpret_cast<std::byte *>(&result),
                               finding->block(0), sizeof(result));
                EXPECT_TRUE(queue.finish().ok());
              }).ok());
  return result;
}

// Random elements of each type, of which few are not finite.
TEST_P(FiniteOnDevices, searchAsTheHostDoes) {
  std::shared_ptr<Device> device = *openDevice(GetParam());
  std::mt19937_64 random(5);
  for (ElementType element : {ElementType::f16, ElementType::bf16,
                              ElementType::f32, ElementType::f64})
    for (uint64_t elements : {0, 1, 255, 257, 5000, 70001})
      for (unsigned few : {0, 1, 3}) {
        uint64_t size = elementSize(element), exponent = exponentBits(element);
        std::vector<std::byte> bytes(elements * size);
        auto store = [&](uint64_t i, uint64_t bits) {
          std::memcpy(bytes.data() + i * size, &bits, size);
        };
        for (uint64_t i = 0; i < elements; ++i)
          store(i, random() & ~(exponent & -exponent));
        for (unsigned i = 0; i < few && elements; ++i) {
          uint64_t sign = (random() & 1) << (8 * size - 1);
          store(random() % elements,
                sign | exponent | (random() & 1 ? 0 : random() & ~exponent));
        }
        NonFinite expected;
        FiniteSearch search{element, elements, bytes.data(), &expected, 7};
        searchOnHost(search);
        EXPECT_EQ(expected.isFound(), few > 0 && elements > 0);
        NonFinite found = searchOn(*device, std::span(&search, 1));
        EXPECT_EQ(found.code, expected.code);
        EXPECT_EQ(found.order, expected.order);
        if (found.isFound()) {
          EXPECT_EQ(found.value(), expected.value());
        }
      }
}

// The search with the lowest order counts, which comes first.
TEST_P(FiniteOnDevices, searchesAreOrdered) {
  std::shared_ptr<Device> device = *openDevice(GetParam());
  std::vector<float> finite(300, 1), second = finite, first = finite;
  second[299] = infinity;
  first[0] = NAN;
  auto searchIn = [](const std::vector<float> &values, uint64_t order) {
    return FiniteSearch{ElementType::f32, values.size(),
                        reinterpret_cast<const std::byte *>(values.data()),
                        nullptr, order};
  };
  std::vector<FiniteSearch> searches{searchIn(finite, 1), searchIn(second, 2),
                                     searchIn(first, 3)};
  NonFinite found = searchOn(*device, searches);
  EXPECT_EQ(found.order, 2u);
  EXPECT_EQ(found.element(), 299u);
  EXPECT_EQ(found.value(), "inf");
}

/// Each replica doubles its `a`; a section doubles the sum of all, and each
/// replica doubles the result.
TestProgram propagating(uint32_t replicas) {
  TestProgram p(replicas);
  uint32_t a = p.variable("a", ElementType::f32, {2, 8192}, true);
  uint32_t b = p.buffer(Space::replica, ElementType::f32, {2, 8192});
  uint32_t c = p.buffer(Space::replica, ElementType::f32, {2, 8192});
  uint32_t sum = p.buffer(Space::shared, ElementType::f32, {2, 8192});
  uint32_t twice = p.buffer(Space::shared, ElementType::f32, {2, 8192});
  uint32_t channel = p.channel();
  p.launch("twice_tiles", {a}, {b});
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {b}, {sum});
  p.wait(channel);
  p.once(p.channel());
  p.launch("twice_tiles", {sum}, {twice});
  p.endOnce();
  p.launch("twice_tiles", {twice}, {c});
  p.output("c", c);
  p.ret();
  return p;
}

// Whatever has been computed from a value by the end of the run, the origin is
// reported: before a run is recorded, when it is, and in recorded runs.
TEST_P(FiniteOnDevices, originInAnyRun) {
  for (unsigned origin : {0, 2})
    for (int before : {0, 1, 2, 4}) {
      TestProgram p = propagating(3);
      auto session = p.session(options());
      for (int run = 0; run < before; ++run)
        ASSERT_TRUE(session->run("main").ok());
      EXPECT_EQ(session->recording(0).isRecorded, before >= 2);
      set(session->variable("a", origin), 8200, 3e38f);
      EXPECT_EQ(session->run("main").message(),
                "train.py:42: launch 'twice_tiles' has written inf: replica " +
                    std::to_string(origin) +
                    ", buffer 1, element [1, 8] of 2x8192xf32, in command 0 of "
                    "program 'main'");
      EXPECT_EQ(session->run("main").code(), StatusCode::poisoned);
    }
}

// The replica that executes sections has more searches before the origin than
// others have behind it.
TEST_P(FiniteOnDevices, originBehindSections) {
  for (unsigned origin : {0, 1}) {
    TestProgram p(2);
    uint32_t a = p.variable("a", ElementType::f32, {256 * 64}, true);
    uint32_t b = p.buffer(Space::replica, ElementType::f32, {256 * 64});
    uint32_t sum = p.buffer(Space::shared, ElementType::f32, {256 * 64});
    uint32_t other = p.buffer(Space::shared, ElementType::f32, {256 * 64});
    for (int i = 0; i < 3; ++i) {
      p.once(p.channel());
      for (int k = 0; k < 4; ++k)
        p.launch("twice_tiles", {other}, {other});
      p.endOnce();
    }
    uint32_t command = p.launch("twice_tiles", {a}, {b});
    uint32_t channel = p.channel();
    p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {b}, {sum});
    p.wait(channel);
    p.ret();
    auto session = p.session(options());
    for (int run = 0; run < 3; ++run)
      ASSERT_TRUE(session->run("main").ok());
    set(session->variable("a", origin), 7, 3e38f);
    std::string text = session->run("main").message();
    EXPECT_TRUE(text.starts_with("train.py:42: launch 'twice_tiles' has "
                                 "written inf: replica " +
                                 std::to_string(origin) + ","))
        << text;
    EXPECT_TRUE(text.ends_with("in command " + std::to_string(command) +
                               " of program 'main'"))
        << text;
  }
}

// What a command has read is reported, too, of values from before the run.
TEST_P(FiniteOnDevices, whatWasRead) {
  for (int before : {0, 1, 3}) {
    TestProgram p = propagating(2);
    auto session = p.session(options());
    for (int run = 0; run < before; ++run)
      ASSERT_TRUE(session->run("main").ok());
    set(session->variable("a", 1), 5, -infinity);
    std::string text = session->run("main").message();
    EXPECT_TRUE(text.ends_with(
        "in command 0 of program 'main'; it has read -inf: buffer 0 (variable "
        "'a'), element [0, 5] of 2x8192xf32"))
        << text;
  }
}

// Finite operands whose sum is not, and a section that overflows.
TEST_P(FiniteOnDevices, collectivesAndSections) {
  for (int before : {0, 3})
    for (bool section : {false, true}) {
      TestProgram p = propagating(2);
      auto session = p.session(options());
      for (int run = 0; run < before; ++run)
        ASSERT_TRUE(session->run("main").ok());
      for (unsigned replica = 0; replica < 2; ++replica)
        set(session->variable("a", replica), 9, section ? 0.7e38f : 1.5e38f);
      std::string text = session->run("main").message();
      EXPECT_TRUE(text.starts_with(
          section ? "train.py:42: launch 'twice_tiles' has written inf: "
                  : "train.py:42: start all_reduce sum channel 0 has written "
                    "inf: replica 0, buffer 3, element [0, 9] of"))
          << text;
      EXPECT_TRUE(text.ends_with(section ? "in command 4 of program 'main'"
                                         : "in command 1 of program 'main'"))
          << text;
    }
}

// A result is searched when it is there, although the host does not wait for
// the collective. Before, its memory holds a NaN (`fillMemory`).
TEST_P(FiniteOnDevices, collectivesBeforeTheHostDecides) {
  for (bool overflows : {false, true})
    for (int repeated = 0; repeated < 20; ++repeated) {
      TestProgram p(2);
      uint32_t isDone = p.variable("done", ElementType::i1, {});
      uint32_t a = p.variable("a", ElementType::f32, {16}, true);
      uint32_t sum = p.buffer(Space::replica, ElementType::f32, {16});
      uint32_t channel = p.channel();
      p.start(CollectiveKind::reduce, Reduction::sum, channel, {a}, {sum}, 0, 0,
              /*root=*/1);
      p.wait(channel);
      p.patch(p.branchUnless(isDone));
      p.ret();
      SessionOptions given = options();
      given.fillMemory = true;
      auto session = p.session(given);
      for (unsigned replica = 0; overflows && replica < 2; ++replica)
        set(session->variable("a", replica), 5, 3e38f);
      std::string text = session->run("main").message();
      EXPECT_EQ(text, overflows
                          ? "train.py:42: start reduce sum channel 0 has "
                            "written inf: replica 1, buffer 2, element [5] of "
                            "16xf32, in command 0 of program 'main'"
                          : "");
    }
}

// The same with other executors, for which each command is checked at once.
TEST_P(FiniteOnDevices, collectivesOfSeveralExecutors) {
  TestProgram p = propagating(2);
  ClusterOptions given{.session = options(), .executors = 2};
  given.session.fillMemory = true;
  Expected<std::unique_ptr<Cluster>> cluster =
      Cluster::create(p.artifact(), given);
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  for (int run = 0; run < 5; ++run) {
    Status status = (*cluster)->run("main");
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

// Where the host decides by data, each command is checked before the next one.
TEST_P(FiniteOnDevices, beforeTheHostDecides) {
  TestProgram p(1);
  uint32_t isDone = p.variable("done", ElementType::i1, {});
  uint32_t a = p.variable("a", ElementType::f32, {64 * 256});
  p.once(p.channel());
  uint32_t branch = p.branchUnless(isDone);
  p.launch("twice_tiles", {a}, {a});
  p.patch(branch);
  p.launch("nothing", {}, {a});
  p.endOnce();
  p.ret();
  auto session = p.session(options());
  session->variable("done")[0] = std::byte(1);
  set(session->variable("a"), 300, 3e38f);
  EXPECT_EQ(session->run("main").message(),
            "train.py:42: launch 'twice_tiles' has written inf: replica 0, "
            "buffer 1 (variable 'a'), element [300] of 16384xf32, in command 2 "
            "of program 'main'");
}

} // namespace

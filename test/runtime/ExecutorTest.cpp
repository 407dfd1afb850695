//===- ExecutorTest.cpp - replicas, workers, control flow -----------------===//

#include "TestProgram.h"
#include "Values.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

template <typename T> T &at(std::span<std::byte> bytes, size_t index = 0) {
  return reinterpret_cast<T *>(bytes.data())[index];
}
template <typename T> T at(std::span<const std::byte> bytes, size_t index = 0) {
  return reinterpret_cast<const T *>(bytes.data())[index];
}

/// Sets all elements, where a call of `at` for each would take too long.
template <typename T>
void copyTo(std::span<std::byte> bytes, const std::vector<T> &elements) {
  ASSERT_EQ(bytes.size(), elements.size() * sizeof(T));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
}

/// Replicas and workers.
class Executor : public testing::TestWithParam<std::tuple<uint32_t, unsigned>> {
protected:
  uint32_t replicas = std::get<0>(GetParam());
  SessionOptions options() const {
    return {.workers = std::get<1>(GetParam())};
  }
};

INSTANTIATE_TEST_SUITE_P(All, Executor,
                         testing::Combine(testing::Values(1, 2, 3, 8, 64),
                                          testing::Values(1, 2, 3)));

// for (i = 0; i < 5; ++i) { shared += all_reduce(x); x += 1 }, the sum in a
// once section.
TEST_P(Executor, loopWithCollectiveAndOnce) {
  TestProgram p(replicas);
  uint32_t x = p.variable("x", ElementType::i64, {}, true);
  uint32_t total = p.variable("total", ElementType::i64, {});
  uint32_t sum = p.buffer(Space::shared, ElementType::i64, {});
  p.output("total", total);
  uint32_t i = p.reg(), five = p.reg(), one = p.reg();
  p.setRegister(five, 5);
  p.setRegister(one, 1);
  uint32_t head = p.branchGreaterEqual(i, five);
  uint32_t channel = p.channel();
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {x}, {sum});
  p.wait(channel);
  p.once(p.channel());
  p.launch("add", {sum, total}, {total});
  p.endOnce();
  p.launch("add_scalar", {x}, {x}, {one});
  p.addRegister(i, one);
  p.jump(head);
  p.patch(head);
  p.ret();
  auto session = p.session(options());
  for (int64_t run = 0; run < 3; ++run) {
    at<int64_t>(session->variable("total")) = 0;
    for (uint32_t r = 0; r < replicas; ++r)
      at<int64_t>(session->variable("x", r)) = r + 10 * run;
    Status status = session->run("main");
    ASSERT_TRUE(status.ok()) << status.message();
    int64_t expected = 0;
    for (int64_t step = 0; step < 5; ++step)
      for (int64_t r = 0; r < int64_t(replicas); ++r)
        expected += r + 10 * run + step;
    EXPECT_EQ(at<int64_t>(session->output(0, "total")), expected);
    EXPECT_EQ(at<int64_t>(session->variable("x", replicas - 1)),
              replicas - 1 + 10 * run + 5);
  }
  EXPECT_EQ(session->completedRuns(), 3u);
}

// Each replica takes its own side of a branch without collectives.
TEST_P(Executor, varyingBranches) {
  TestProgram p(replicas);
  uint32_t flag = p.variable("flag", ElementType::i1, {}, true);
  uint32_t x = p.variable("x", ElementType::i64, {}, true);
  uint32_t add = p.reg();
  uint32_t branch = p.branchUnless(flag);
  p.setRegister(add, 100);
  uint32_t end = p.jump(0);
  p.patch(branch);
  p.setRegister(add, 1);
  p.patch(end);
  p.launch("add_scalar", {x}, {x}, {add});
  p.barrier(p.channel());
  p.ret();
  auto session = p.session(options());
  for (uint32_t r = 0; r < replicas; ++r)
    at<uint8_t>(session->variable("flag", r)) = r % 2;
  ASSERT_TRUE(session->run("main").ok());
  for (uint32_t r = 0; r < replicas; ++r)
    EXPECT_EQ(at<int64_t>(session->variable("x", r)), r % 2 ? 100 : 1);
}

// Every tile of a grid runs exactly once, on whichever worker.
TEST_P(Executor, grids) {
  TestProgram p(replicas);
  uint32_t counts = p.variable("counts", ElementType::i32, {64}, true);
  uint32_t data = p.variable("data", ElementType::f32, {64 * 256}, true);
  uint32_t twice = p.buffer(Space::replica, ElementType::f32, {64 * 256});
  p.output("twice", twice);
  p.launch("count_tiles", {}, {counts});
  p.launch("twice_tiles", {data}, {twice});
  p.ret();
  auto session = p.session(options());
  std::vector<float> values(64 * 256), doubled(64 * 256);
  for (int run = 1; run <= 3; ++run) {
    for (uint32_t r = 0; r < replicas; ++r) {
      std::iota(values.begin(), values.end(), float(r));
      copyTo(session->variable("data", r), values);
    }
    ASSERT_TRUE(session->run("main").ok());
    for (uint32_t r = 0; r < replicas; ++r) {
      for (size_t i = 0; i < doubled.size(); ++i)
        doubled[i] = 2 * float(i + r);
      ASSERT_EQ(valuesOf<int32_t>(session->variable("counts", r)),
                std::vector<int32_t>(64, run));
      ASSERT_EQ(valuesOf<float>(session->output(0, "twice", r)), doubled);
    }
  }
}

// for (i = 0; i < 3; ++i) { load a batch; sum += all_reduce(x) }, on data that
// every run reads from the start.
TEST_P(Executor, loadsBatches) { // [7-past-end]
  TestProgram p(replicas);
  uint32_t x = p.input("x", ElementType::i64, {});
  uint32_t total = p.variable("total", ElementType::i64, {}, true);
  uint32_t mine = p.buffer(Space::replica, ElementType::i64, {}),
           sum = p.buffer(Space::shared, ElementType::i64, {});
  uint32_t i = p.reg(), three = p.reg(), one = p.reg();
  p.setRegister(i, 0);
  p.setRegister(three, 3);
  p.setRegister(one, 1);
  uint32_t head = p.branchGreaterEqual(i, three);
  p.next();
  p.copy(x, mine);
  uint32_t channel = p.channel();
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {mine}, {sum});
  p.wait(channel);
  p.launch("add", {sum, total}, {total});
  p.addRegister(i, one);
  p.jump(head);
  p.patch(head);
  p.ret();
  auto session = p.session(options());
  EXPECT_TRUE(session->programs()[0].loadsBatches);
  struct alignas(Session::inputAlignment) Batch {
    int64_t x;
  };
  std::vector<Batch> data(3 * replicas);
  for (uint32_t r = 0; r < replicas; ++r)
    for (int64_t k = 0; k < 3; ++k)
      data[3 * r + k].x = k + 1;
  auto bind = [&](uint32_t r, size_t count) {
    std::vector<const std::byte *> batches;
    for (size_t k = 0; k < count; ++k)
      batches.push_back(reinterpret_cast<const std::byte *>(&data[3 * r + k]));
    ASSERT_TRUE(session->bindBatches(0, r, batches).ok());
  };
  for (uint32_t r = 0; r < replicas; ++r)
    bind(r, 3);
  for (int64_t run = 1; run <= 2; ++run) {
    ASSERT_TRUE(session->run("main").ok());
    for (uint32_t r = 0; r < replicas; ++r)
      EXPECT_EQ(at<int64_t>(session->variable("total", r)), 6 * replicas * run);
  }
  const auto *odd = reinterpret_cast<const std::byte *>(data.data()) + 8;
  EXPECT_THAT(session->bindBatches(0, 0, {odd}).message(),
              testing::HasSubstr("expected a batch aligned to 64 bytes"));
  if (replicas > 1) {
    bind(1, 2);
    bind(0, 3);
    EXPECT_EQ(session->run("main").message(),
              "program 'main': replica 1 has 2 batches, but replica 0 has 3");
  }
  for (uint32_t r = 0; r < replicas; ++r)
    bind(r, 2);
  Status status = session->run("main");
  EXPECT_EQ(status.code(), StatusCode::outOfRange);
  EXPECT_THAT(status.message(),
              testing::HasSubstr("asks for batch 3 of 2 [E_OUT_OF_RANGE]"));
}

TEST(Batches, AProgramThatLoadsNoneTakesNone) {
  TestProgram p(1);
  p.ret();
  EXPECT_EQ(p.session()->bindBatches(0, 0, {}).message(),
            "program 'main' loads no batches");
}

// A collective is started early; later commands overlap with it.
TEST_P(Executor, startEarlyWaitLate) {
  TestProgram p(replicas);
  uint32_t a = p.variable("a", ElementType::f32, {20000}, true);
  uint32_t b = p.variable("b", ElementType::i64, {}, true);
  uint32_t sum = p.buffer(Space::shared, ElementType::f32, {20000});
  p.output("sum", sum);
  uint32_t one = p.reg(), first = p.channel(), second = p.channel();
  p.setRegister(one, 1);
  p.start(CollectiveKind::all_reduce, Reduction::sum, first, {a}, {sum});
  for (int i = 0; i < 10; ++i)
    p.launch("add_scalar", {b}, {b}, {one});
  p.start(CollectiveKind::all_reduce, Reduction::max, second, {b}, {b});
  p.wait(first);
  p.wait(second);
  p.ret();
  auto session = p.session(options());
  std::vector<float> values(20000);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(i % 100);
  for (uint32_t r = 0; r < replicas; ++r) {
    at<int64_t>(session->variable("b", r)) = r;
    copyTo(session->variable("a", r), values);
  }
  ASSERT_TRUE(session->run("main").ok());
  for (uint32_t r = 0; r < replicas; ++r) {
    EXPECT_EQ(at<int64_t>(session->variable("b", r)), replicas + 9);
    EXPECT_EQ(at<float>(session->output(0, "sum", r), 19999),
              99.0f * float(replicas));
  }
}

TEST_P(Executor, inputsScalarsAndInitialValues) {
  TestProgram p(replicas);
  uint32_t x = p.input("x", ElementType::i64, {});
  uint32_t lr = p.scalar("lr", ElementType::i64);
  uint32_t w = p.variable("w", ElementType::i64, {});
  p.writer.tables.variables[0]->initial =
      int32_t(p.writer.addSegment(std::vector<std::byte>(8, std::byte(1))));
  uint32_t r = p.buffer(Space::replica, ElementType::i64, {});
  p.output("r", r);
  uint32_t add = p.reg();
  p.loadRegister(add, lr);
  p.launch("add_scalar", {x}, {r}, {add});
  p.ret();
  (void)w;
  auto session = p.session(options());
  EXPECT_EQ(at<int64_t>(session->variable("w")), 0x0101010101010101);
  EXPECT_TRUE(session->variables()[0].hasInitial);
  EXPECT_EQ(session->run("main").message(),
            "program 'main': replica 0 has no input bound");
  alignas(64) int64_t batches[64][8] = {};
  for (uint32_t i = 0; i < replicas; ++i) {
    batches[i][0] = i;
    ASSERT_TRUE(
        session->bindInput(0, i, reinterpret_cast<std::byte *>(batches[i]))
            .ok());
  }
  EXPECT_FALSE(
      session->bindInput(0, 0, reinterpret_cast<std::byte *>(batches[0]) + 8)
          .ok());
  EXPECT_EQ(session->run("main").message(),
            "program 'main': scalar 'lr' is not set and has no default");
  int64_t value = 1000;
  EXPECT_FALSE(session->setScalar("lr", bytesOf(int32_t(1))).ok());
  EXPECT_FALSE(session->setScalar("rate", bytesOf(value)).ok());
  ASSERT_TRUE(session->setScalar("lr", bytesOf(value)).ok());
  ASSERT_TRUE(session->run("main").ok());
  for (uint32_t i = 0; i < replicas; ++i)
    EXPECT_EQ(at<int64_t>(session->output(0, "r", i)), 1000 + i);
}

//===----------------------------------------------------------------------===//
// Bounds that are only known at run time
//===----------------------------------------------------------------------===//

TEST(ExecutorBounds, dynamicSizes) {
  for (int64_t size : {0, 10, 11, -1}) {
    TestProgram p(1);
    uint32_t n = p.reg();
    uint32_t source = p.dynamicBuffer(Space::replica, ElementType::f32, {-1, 2},
                                      {int32_t(n), -1}, 80);
    uint32_t copy = p.dynamicBuffer(Space::replica, ElementType::f32, {-1, 2},
                                    {int32_t(n), -1}, 80);
    p.output("copy", copy);
    p.setRegister(n, size);
    p.copy(source, copy);
    p.launch("nothing", {copy}, {});
    p.ret();
    auto session = p.session({.workers = 1});
    Status status = session->run("main");
    if (size == 0 || size == 10) {
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(session->outputShape(0, 0), (std::vector<int64_t>{size, 2}));
      EXPECT_EQ(session->output(0, 0).size(), size_t(8 * size));
      continue;
    }
    EXPECT_EQ(status.code(), StatusCode::outOfRange);
    EXPECT_EQ(status.message(),
              "train.py:42: in command 1 of program 'main', replica 0: copy: "
              "dynamic dimensions [" +
                  std::to_string(size) +
                  "] of buffer 0 break its bound of 80 bytes");
    EXPECT_TRUE(session->poisoned());
    EXPECT_TRUE(session->variablesIntact());
    EXPECT_EQ(session->run("main").code(), StatusCode::poisoned);
  }
}

TEST(ExecutorBounds, raggedGatherBeyondItsBound) {
  for (unsigned workers : {1, 2}) {
    TestProgram p(2);
    uint32_t n = p.reg(), all = p.reg();
    uint32_t count = p.variable("count", ElementType::i64, {}, true);
    uint32_t a = p.dynamicBuffer(Space::replica, ElementType::f32, {-1},
                                 {int32_t(n)}, 40);
    uint32_t r = p.dynamicBuffer(Space::shared, ElementType::f32, {-1},
                                 {int32_t(all)}, 40);
    uint32_t channel = p.channel();
    p.loadRegister(n, count);
    p.start(CollectiveKind::all_gather, Reduction::none, channel, {a}, {r});
    p.wait(channel);
    p.ret();
    auto session = p.session({.workers = workers});
    at<int64_t>(session->variable("count", 0)) = 6;
    at<int64_t>(session->variable("count", 1)) = 4;
    ASSERT_TRUE(session->run("main").ok());
    at<int64_t>(session->variable("count", 1)) = 5;
    Status status = session->run("main");
    EXPECT_EQ(status.code(), StatusCode::outOfRange);
    EXPECT_NE(status.message().find(
                  "the operands have 44 bytes, the bound of the result is 40"),
              std::string::npos)
        << status.message();
  }
}

//===----------------------------------------------------------------------===//
// Trace
//===----------------------------------------------------------------------===//

TEST(Trace, isValidJsonWithAllEvents) {
  for (unsigned workers : {1, 2}) {
    TemporaryFile file("lockstep-trace.json");
    const std::string &path = file.path;
    {
      TestProgram p(4);
      uint32_t a = p.variable("a", ElementType::f32, {1000}, true);
      uint32_t r = p.buffer(Space::shared, ElementType::f32, {1000});
      uint32_t channel = p.channel();
      p.launch("nothing", {a}, {});
      p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {r});
      p.wait(channel);
      p.ret();
      auto session = p.session({.workers = workers, .traceFile = path});
      ASSERT_TRUE(session->run("main").ok());
      ASSERT_TRUE(session->run("main").ok());
      EXPECT_TRUE(session->writeTrace().ok());
    }
    std::ifstream stream(path);
    nlohmann::json trace = nlohmann::json::parse(stream);
    int kernels = 0, collectives = 0, waits = 0;
    // Of the latest event of each track.
    std::map<int, double> ends;
    for (const auto &event : trace["traceEvents"]) {
      if (event["ph"] != "X")
        continue;
      kernels += event["cat"] == "kernel" && event["name"] == "nothing";
      collectives += event["cat"] == "collective";
      waits += event["cat"] == "wait";
      EXPECT_EQ(event["args"]["location"], "train.py:42");
      EXPECT_GE(event["dur"], 0);
      // The events of a track are one after the other; 1 ns for rounding.
      double begin = event["ts"].get<double>();
      double &end = ends[event["tid"].get<int>()];
      EXPECT_GE(begin, end - 1e-3);
      end = begin + event["dur"].get<double>();
    }
    EXPECT_EQ(kernels, 8);
    if (!isOnHostDevice()) {
      // Each collective is on a track of its own, and each wait is there: the
      // queue of a replica waits, not the host.
      EXPECT_EQ(collectives, 2);
      EXPECT_EQ(waits, 8);
      EXPECT_EQ(ends.size(), 5u);
      continue;
    }
    EXPECT_EQ(collectives, 8);
    EXPECT_LE(waits, 6);
    if (workers == 1) {
      EXPECT_EQ(waits, 6);
    }
  }
}

TEST(Trace, reportsWhatItCannotWrite) {
  TestProgram p(1);
  p.ret();
  auto session =
      p.session({.workers = 1, .traceFile = "/nonexistent/trace.json"});
  EXPECT_EQ(session->writeTrace().code(), StatusCode::system);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

TEST(Session, unknownNames) {
  TestProgram p(2);
  p.variable("a", ElementType::f32, {4}, true);
  p.ret();
  auto session = p.session({.workers = 1});
  EXPECT_EQ(session->run("other").message(),
            "there is no program 'other': the artifact has 'main'");
  EXPECT_FALSE(session->run(7).ok());
  EXPECT_TRUE(session->variable("b").empty());
  EXPECT_TRUE(session->variable("a", 2).empty());
  EXPECT_TRUE(session->output(0, 0).empty());
  EXPECT_TRUE(session->output(5, "x").empty());
  EXPECT_FALSE(session->bindInput(0, 2, nullptr).ok());
}

TEST(Session, badOptions) {
  TestProgram p(2);
  p.ret();
  auto create = [&](SessionOptions options) {
    return Session::create(p.artifact(), std::move(options)).status().message();
  };
  EXPECT_NE(
      create({.deadline = std::chrono::seconds(0)}).find("deadline above 0"),
      std::string::npos);
  EXPECT_NE(create({.injections = {"explode:replica=1"}}).find("unknown fault"),
            std::string::npos);
  EXPECT_NE(create({.injections = {"pause:replica=x,channel=1"}})
                .find("'x' is not a number"),
            std::string::npos);
  EXPECT_NE(create({.injections = {"pause:replica=1"}})
                .find("one of channel and command"),
            std::string::npos);
  EXPECT_NE(create({.injections = {"pause:replica=2,channel=0"}})
                .find("does not exist among 2"),
            std::string::npos);
}

} // namespace

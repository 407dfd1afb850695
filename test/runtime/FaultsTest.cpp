//===- FaultsTest.cpp - kernels that go wrong are named -------------------===//
//
// Faults are injected, time is a fake clock's: nothing here sleeps.
//
//===----------------------------------------------------------------------===//

#include "HangingKernel.h"

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

/// 0: b = 2 a in 64 tiles; 1: nothing; 2: all_reduce of b; 3: its wait.
void build(TestProgram &p) {
  uint32_t a = p.variable("a", ElementType::f32, {64 * 256}, true);
  uint32_t b = p.buffer(Space::replica, ElementType::f32, {64 * 256});
  uint32_t sum = p.buffer(Space::shared, ElementType::f32, {64 * 256});
  uint32_t channel = p.channel();
  p.launch("twice_tiles", {a}, {b});
  p.launch("nothing", {b}, {});
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {b}, {sum});
  p.wait(channel);
  p.output("sum", sum);
  p.ret();
}

class Faults : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Workers, Faults, testing::Values(1, 3));

// A worker leaves inside of a launch: the report names the replica, command and
// tile.
TEST_P(Faults, workerThatReturnsEarlyIsNamed) {
  for (auto [fault, expected, tiles] :
       {std::tuple("return-early:replica=2,command=0",
                   "command 0 'launch 'twice_tiles'' (train.py:42) on worker ",
                   ", tile 63 of 64"),
        std::tuple("return-early:replica=2,command=1,program=main",
                   "command 1 'launch 'nothing'' (train.py:42) on worker ",
                   "")}) {
    FakeClock clock;
    TestProgram p(4);
    build(p);
    std::atomic<int> injected{0};
    auto session =
        p.session({.workers = GetParam(),
                   .clock = &clock,
                   .injections = {fault},
                   .onInjection = [&](const std::string &) { ++injected; }});
    Status status = runWithTime(*session, clock, 30s, GetParam());
    EXPECT_EQ(status.code(), StatusCode::deadline);
    EXPECT_EQ(injected, 1);
    std::string text = status.message();
    EXPECT_NE(text.find("arrived: replicas 0-1, 3\n  missing: replica 2\n"),
              std::string::npos)
        << text;
    size_t begin = text.find(
        std::string("\nreplica 2: left unfinished by its worker in ") +
        expected);
    ASSERT_NE(begin, std::string::npos) << text;
    std::string line =
        text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
    EXPECT_TRUE(line.ends_with(tiles)) << line;
    nlohmann::json replica =
        nlohmann::json::parse(session->deadlineReport().json)["replicas"][2];
    EXPECT_EQ(replica["state"], "left");
    EXPECT_EQ(replica["tiles"].size(), *tiles ? 1u : 0u);
    EXPECT_TRUE(session->variablesIntact());
  }
}

// A kernel never returns: the run does, and the report names the kernel, the
// replica and the worker.
TEST(Hang, kernelIsNamed) {
  if (!isOnHostDevice())
    GTEST_SKIP() << "workers are inside of kernels of host devices alone";
  for (bool tiles : {false, true}) {
    hang = new Hang;
    TestProgram p(2);
    // Tiles of a kernel that is known to be short are not shared: the calling
    // thread must not be the one that hangs.
    p.kernel("twice_tiles").flops = 1;
    uint32_t isSecond = p.variable("is_second", ElementType::i1, {}, true);
    uint32_t a = p.variable("a", ElementType::f32, {64 * 256}, true);
    uint32_t b = p.buffer(Space::replica, ElementType::f32, {64 * 256});
    uint32_t branch = p.branchUnless(isSecond);
    if (tiles)
      p.launch("twice_tiles", {a}, {b});
    else
      p.launch("nothing", {a}, {});
    uint32_t end = p.jump(0);
    p.patch(branch);
    // The calling thread begins with replica 0, and is kept there.
    callWaitingForHang(p);
    p.patch(end);
    p.barrier(p.channel());
    p.ret();
    auto session = p.session({.workers = 2,
                              .clock = &hang.load()->clock,
                              .injections = {"hang:replica=1,command=1"},
                              .onInjection = [](const std::string &) {
                                hang.load()->hangs = true;
                              }});
    session->variable("is_second", 1)[0] = std::byte(1);
    // Time passes once the kernel hangs in its last tile, not before: replica 0
    // begins 3 commands and is blocked, replica 1 begins 2 and all tiles.
    uint64_t progress = 3 + 1 + 2 + (tiles ? 64 : 1);
    Status status = runWithTimeWhen(*session, hang.load()->clock, 30s, [&] {
      return session->progress() == progress;
    });
    EXPECT_EQ(status.code(), StatusCode::deadline);
    std::string expected =
        std::string("\nreplica 1: running command 1 'launch '") +
        (tiles ? "twice_tiles" : "nothing") + "'' (train.py:42) on worker 1" +
        (tiles ? ", tile 63 of 64" : "\n");
    EXPECT_NE(status.message().find(expected), std::string::npos)
        << status.message();
    EXPECT_NE(status.message().find("missing: replica 1\n"), std::string::npos)
        << status.message();
  }
}

// A NaN propagates through the program, unless it is checked: then its kernel
// is named and it does not propagate.
TEST_P(Faults, nanIsNamed) {
  for (bool checks : {false, true}) {
    TestProgram p(4);
    build(p);
    auto session = p.session({.workers = GetParam(),
                              .injections = {"nan:replica=2,command=0"},
                              .checkFinite = checks});
    Status status = session->run("main");
    EXPECT_EQ(session->poisoned(), checks);
    if (checks) {
      EXPECT_EQ(status.code(), StatusCode::nonFinite);
      EXPECT_EQ(status.message(),
                "train.py:42: launch 'twice_tiles' has written nan: replica 2, "
                "buffer 1, element [16383] of 16384xf32, in "
                "command 0 of program 'main'");
      EXPECT_TRUE(session->variablesIntact());
      continue;
    }
    EXPECT_TRUE(status.ok()) << status.message();
    float last = 0;
    std::memcpy(&last, session->output(0, "sum").last(sizeof(float)).data(),
                sizeof(float));
    EXPECT_TRUE(std::isnan(last));
  }
}

// A fault that can never act is an error with the reason.
TEST(Injections, thatCannotAct) {
  TestProgram p(2);
  build(p);
  auto error = [&](const char *fault) {
    return Session::create(p.artifact(), {.injections = {fault}})
        .status()
        .message();
  };
  EXPECT_EQ(error("hang:replica=1,command=3"),
            "injection 'hang:replica=1,command=3': expected a launch, found "
            "'wait channel 0' at command 3 of program 'main'");
  EXPECT_EQ(
      error("pause:replica=1,command=9"),
      "injection 'pause:replica=1,command=9': replica 1 has no command 9");
  EXPECT_EQ(
      error("pause:replica=1,channel=1"),
      "injection 'pause:replica=1,channel=1': replica 1 has no channel 1");
  EXPECT_EQ(error("nan:replica=1,command=0,program=step"),
            "injection 'nan:replica=1,command=0,program=step': replica 1 has "
            "no program 'step', only 'main'");
  EXPECT_EQ(error("return-early:replica=1,channel=0"),
            "injection 'return-early:replica=1,channel=0': expected the "
            "command of a launch, found a channel (expected for example "
            "'pause:replica=2,channel=3')");
  EXPECT_EQ(error("pause:replica=1,replica=2,channel=0"),
            "injection 'pause:replica=1,replica=2,channel=0': 'replica' is "
            "given twice (expected for example 'pause:replica=2,channel=3')");
  EXPECT_EQ(
      error("nan:replica=0,command=1"),
      "injection 'nan:replica=0,command=1': expected a launch that writes "
      "floats, found 'launch 'nothing'' at command 1 of program 'main'");
  EXPECT_EQ(error("nan:replica=0,command=0"), "");
  EXPECT_EQ(error("hang:replica=0,command=1"), "");
}

} // namespace

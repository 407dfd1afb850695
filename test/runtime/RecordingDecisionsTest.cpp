//===- RecordingDecisionsTest.cpp - random control flow, recorded ---------===//

#include "Devices.h"
#include "TestProgram.h"

#include <random>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

/// A program of nested branches and loops by data, in which replicas count in
/// `own`, add the largest one to `total` by collectives, which may be in
/// progress during decisions, and compute in `once` sections.
class RandomProgram {
public:
  RandomProgram(uint32_t replicas, unsigned seed)
      : program(replicas), random(seed) {
    own = program.variable("own", ElementType::i64, {}, true);
    total = program.variable("total", ElementType::i64, {});
    one = program.variable("one", ElementType::i64, {});
    bound = program.variable("bound", ElementType::i64, {});
    ownBound = program.variable("own_bound", ElementType::i64, {}, true);
    for (std::string name : {"first", "second"}) {
      conditions.push_back(program.variable(name, ElementType::i1, {}));
      ownConditions.push_back(
          program.variable("own_" + name, ElementType::i1, {}, true));
    }
    increment = program.reg();
    program.setRegister(increment, 1);
    for (int i = 0; i < 4; ++i)
      addStatement(/*depth=*/0, Everywhere);
    program.output("total", total);
    program.output("own", own);
    program.ret();
  }

  TestProgram program;

private:
  /// Where a statement is: on all replicas in one order, on some of them, or on
  /// one for all of them.
  enum Place { Everywhere, Somewhere, Once };

  uint32_t draw(uint32_t count) { return uint32_t(random() % count); }
  uint32_t counter(Place place) const { return place == Once ? total : own; }

  void addStatements(uint32_t depth, Place place) {
    for (uint32_t i = 0, count = 1 + draw(2); i < count; ++i)
      addStatement(depth, place);
  }

  void addStatement(uint32_t depth, Place place) {
    enum { Launch, Branch, Loop, OwnBranch, OwnLoop, Collective, Section };
    uint32_t kinds = place == Everywhere ? 7 : place == Somewhere ? 5 : 3;
    constexpr uint32_t mostDepth = 3;
    switch (depth == mostDepth ? uint32_t(Launch) : draw(kinds)) {
    case Branch:
      return addBranch(conditions[draw(2)], depth, place);
    case Loop:
      return addLoop(bound, depth, place);
    case OwnBranch:
      return addBranch(ownConditions[draw(2)], depth, Somewhere);
    case OwnLoop:
      return addLoop(ownBound, depth, Somewhere);
    case Collective:
      return addCollective(depth);
    case Section:
      return addSection(depth);
    default:
      program.launch("add", {counter(place), one}, {counter(place)});
    }
  }

  void addBranch(uint32_t condition, uint32_t depth, Place place) {
    uint32_t branch = program.branchUnless(condition);
    addStatements(depth + 1, place);
    program.patch(branch);
  }

  void addLoop(uint32_t limit, uint32_t depth, Place place) {
    uint32_t i = program.reg(), end = program.reg();
    program.setRegister(i, 0);
    program.loadRegister(end, limit);
    uint32_t loop = program.branchGreaterEqual(i, end);
    addStatements(depth + 1, place);
    program.addRegister(i, increment);
    program.jump(loop);
    program.patch(loop);
  }

  void addCollective(uint32_t depth) {
    uint32_t largest = program.buffer(draw(2) ? Space::shared : Space::replica,
                                      ElementType::i64, {});
    uint32_t copy = program.buffer(Space::replica, ElementType::i64, {});
    program.copy(own, copy);
    uint32_t channel = program.channel();
    program.start(CollectiveKind::all_reduce, Reduction::max, channel, {copy},
                  {largest});
    addStatement(depth + 1, Everywhere);
    program.wait(channel);
    uint32_t section = program.channel();
    program.once(section);
    program.launch("add", {total, largest}, {total});
    program.endOnce();
  }

  void addSection(uint32_t depth) {
    program.once(program.channel());
    addStatements(depth + 1, Once);
    program.endOnce();
  }

  std::mt19937 random;
  uint32_t own, total, one, bound, ownBound, increment;
  std::vector<uint32_t> conditions, ownConditions;
};

/// The variables and outputs after each of several runs with random decisions,
/// of which some occur more than once.
std::vector<int64_t> execute(RandomProgram &random, uint32_t replicas,
                             const SessionOptions &options, unsigned seed,
                             int runs, bool expectsRecording) {
  auto session = random.program.session(options);
  std::vector<int64_t> results;
  if (!session)
    return results;
  auto set = [&]<typename T>(const char *name, T value, unsigned replica) {
    std::ranges::copy(bytesOf(value), session->variable(name, replica).begin());
  };
  set("one", int64_t(1), 0);
  std::mt19937 decisions(seed);
  for (int run = 0; run < runs; ++run) {
    bool isUsual = decisions() % 3 != 0;
    auto draw = [&](uint32_t count, uint32_t usual) {
      uint32_t drawn = uint32_t(decisions()) % count;
      return isUsual ? usual : drawn;
    };
    set("first", uint8_t(draw(2, 1)), 0);
    set("second", uint8_t(draw(2, 0)), 0);
    set("bound", int64_t(draw(3, 2)), 0);
    for (uint32_t r = 0; r < replicas; ++r) {
      set("own_first", uint8_t(draw(2, 1)), r);
      set("own_second", uint8_t(draw(2, r % 2)), r);
      set("own_bound", int64_t(draw(3, 1 + r % 2)), r);
    }
    Status status = session->run("main");
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(session->recording(0).obstacle, "");
    if (expectsRecording && run > 0)
      EXPECT_TRUE(session->recording(0).isRecorded);
    for (unsigned output : {0, 1})
      for (uint32_t r = 0; r < replicas; ++r) {
        int64_t value = 0;
        std::memcpy(&value, session->output(0, output, r).data(),
                    sizeof(value));
        results.push_back(value);
      }
  }
  return results;
}

class RecordingDecisions : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(OnDevices, RecordingDecisions,
                         testing::ValuesIn(devicesWithQueues(4001, 2)));

// Runs in recorded parts have the results of interpreted ones.
TEST_P(RecordingDecisions, doNotChangeResults) {
  constexpr int runs = 10;
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    uint32_t replicas = 1 + seed % 3;
    RandomProgram random(replicas, seed);
    std::vector<int64_t> expected =
        execute(random, replicas, {.device = "cpu"}, seed, runs, false);
    ASSERT_FALSE(expected.empty());
    SessionOptions options{.workers = 1 + seed % 2, .device = GetParam()};
    EXPECT_EQ(execute(random, replicas, options, seed, runs, true), expected);
    options.recordRuns = false;
    EXPECT_EQ(execute(random, replicas, options, seed, runs, false), expected);
  }
}

} // namespace

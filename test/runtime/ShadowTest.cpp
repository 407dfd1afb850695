//===- ShadowTest.cpp - variables of a run that fails ---------------------===//

#include "FakeClock.h"
#include "TestProgram.h"

#include "runtime/executor/Cluster.h"

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

/// w = sum of all own, in a once section on channel 1; own = own + 1; a barrier
/// on channel 2.
void build(TestProgram &p) {
  uint32_t own = p.variable("own", ElementType::i64, {}, /*perReplica=*/true);
  uint32_t w = p.variable("w", ElementType::i64, {});
  uint32_t sum = p.buffer(Space::shared, ElementType::i64, {});
  uint32_t one = p.reg(), channel = p.channel();
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {own}, {sum});
  p.wait(channel);
  p.once(p.channel());
  p.copy(sum, w);
  p.endOnce();
  p.setRegister(one, 1);
  p.launch("add_scalar", {own}, {own}, {one});
  p.barrier(p.channel());
  p.ret();
}

int64_t valueOf(const VariableValue &value) {
  std::vector<std::byte> bytes = value.read();
  int64_t result = 0;
  EXPECT_EQ(bytes.size(), sizeof(result));
  std::memcpy(&result, bytes.data(), sizeof(result));
  return result;
}

/// A cluster whose replica 3 does not reach the barrier; its variables are w =
/// 5, own = 10, 11, ...
struct Failing {
  Failing(bool shadows, unsigned executors, const char *fault) : program(4) {
    build(program);
    ClusterOptions options{.session = {.workers = 2,
                                       .clock = &clock,
                                       .injections = {fault},
                                       .shadowVariables = shadows},
                           .executors = executors};
    cluster =
        std::move(*Cluster::create(program.artifact(), std::move(options)));
    set("w", 0, 5);
    for (unsigned replica = 0; replica < 4; ++replica)
      set("own", replica, 10 + replica);
  }
  void set(std::string_view name, unsigned replica, int64_t value) {
    cluster->variable(name, replica)->write(bytesOf(value));
  }
  int64_t get(std::string_view name, unsigned replica) {
    return valueOf(*cluster->variable(name, replica));
  }
  /// Until replica 3 is missed.
  Status run() { return runWithTime(*cluster, clock, 10s, cluster->workers()); }

  FakeClock clock;
  TestProgram program;
  std::unique_ptr<Cluster> cluster;
};

class Shadow : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Executors, Shadow, testing::Values(1, 2, 4));

// The update had begun, so variables are not a state between steps; with a copy
// the last state is still available.
TEST_P(Shadow, keepsTheStateBeforeAFailedRun) {
  for (bool shadows : {false, true}) {
    Failing failing(shadows, GetParam(), "pause:replica=3,channel=2");
    EXPECT_EQ(failing.run().code(), StatusCode::deadline);
    EXPECT_EQ(failing.cluster->variablesIntact(), shadows);
    EXPECT_EQ(failing.cluster->variablesRestored(), shadows);
    // The fake clock advances while a device with queues is busy: its progress
    // before the run is aborted is not known.
    if (!shadows && !isOnHostDevice())
      continue;
    EXPECT_EQ(failing.get("w", 0), shadows ? 5 : 46);
    for (unsigned replica = 0; replica < 4; ++replica)
      EXPECT_EQ(failing.get("own", replica),
                shadows ? 10 + replica : 11 + replica);
  }
}

// No replica had begun to write: the variables themselves are the last state.
TEST_P(Shadow, isNotNeededBeforeTheUpdate) {
  Failing failing(true, GetParam(), "pause:replica=3,channel=0");
  EXPECT_EQ(failing.run().code(), StatusCode::deadline);
  EXPECT_TRUE(failing.cluster->variablesIntact());
  EXPECT_FALSE(failing.cluster->variablesRestored());
  EXPECT_EQ(failing.get("w", 0), 5);
}

// The writes of a successful run are the state, even if an executor aborts
// afterwards.
TEST_P(Shadow, successIsKept) {
  for (bool shadows : {false, true}) {
    TestProgram p(4);
    build(p);
    auto cluster = *Cluster::create(
        p.artifact(), {.session = {.workers = 2, .shadowVariables = shadows},
                       .executors = GetParam()});
    int64_t ten = 10;
    for (unsigned replica = 0; replica < 4; ++replica)
      cluster->variable("own", replica)->write(bytesOf(ten));
    ASSERT_TRUE(cluster->run("main").ok());
    cluster->abort({StatusCode::interrupted, "enough"});
    EXPECT_TRUE(cluster->poisoned());
    EXPECT_TRUE(cluster->variablesIntact());
    EXPECT_FALSE(cluster->variablesRestored());
    EXPECT_EQ(valueOf(*cluster->variable("w")), 40);
    EXPECT_EQ(valueOf(*cluster->variable("own", 2)), 11);
    EXPECT_EQ(cluster->run("main").code(), StatusCode::poisoned);
  }
}

Session *interrupted;

// A replica that returns from a long kernel after the run was aborted does not
// write variables. A device with queues executes commands enqueued before, and
// then variables are reported as not intact.
TEST(Interrupted, noReplicaBeginsToWrite) {
  TestProgram p(1);
  uint32_t w = p.variable("w", ElementType::i64, {}, true);
  uint32_t nine = p.buffer(Space::replica, ElementType::i64, {});
  uint32_t register9 = p.reg();
  p.setRegister(register9, 9);
  p.launch("add_scalar", {w}, {nine}, {register9});
  p.call(
      [](void *) { interrupted->abort({StatusCode::interrupted, "aborted"}); });
  p.copy(nine, w);
  p.ret();
  auto session = p.session({.workers = 1});
  interrupted = session.get();
  Status status = session->run("main");
  EXPECT_EQ(status.code(), StatusCode::interrupted);
  EXPECT_EQ(status.message(), "aborted");
  bool isIntact = session->variablesIntact();
  EXPECT_TRUE(isIntact || !isOnHostDevice());
  if (isIntact)
    EXPECT_EQ(session->variable("w")[0], std::byte(0));
}

} // namespace

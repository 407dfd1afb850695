//===- CoordinatorVariablesTest.cpp - variables and errors ----------------===//

#include "Coordinators.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

// The writes of a worker are checked before another one writes there: no
// partial update of another worker is found.
TEST(Coordinator, checksWhatItsOwnWorkerHasWritten) {
  TestProgram p(1);
  uint32_t rank = p.role("server");
  uint32_t group = p.group({0, rank}), begin = p.channel(), end = p.channel();
  uint32_t v = p.variable("v", ElementType::f32, {1 << 18});
  p.barrier(begin, group);
  p.launch("set_by_way_of_nan", {}, {v});
  p.barrier(end, group);
  p.ret();
  p.in("worker");
  p.barrier(p.channel(begin), group);
  p.barrier(p.channel(end), group);
  p.ret();
  auto coordinator = coordinatorOf(
      p, {.workers = 3, .session = {.workers = 1, .checkFinite = true}});
  for (int i = 0; i < 60; ++i)
    ASSERT_TRUE(
        coordinator
            ->schedule([](Cluster &lane, unsigned) { return lane.run("main"); })
            .ok());
  Status status = coordinator->join();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Coordinator, readsAndWritesVariables) {
  TestProgram p(1);
  build(p);
  auto coordinator = coordinatorOf(p, {.workers = 2});
  Values values;
  values.fill(1000);
  ASSERT_TRUE(coordinator->write("v1", bytesOf(values)).ok());
  ASSERT_TRUE(coordinator->schedule(adds(1)).ok());
  ASSERT_TRUE(coordinator->join().ok());
  EXPECT_EQ(wholeValue(*coordinator->read("v1")), 1001);
  EXPECT_EQ(wholeValue(*coordinator->read("v0")), 1);
  EXPECT_EQ(coordinator->read("v2").status().message(),
            "there is no variable 'v2'");
  EXPECT_EQ(coordinator->write("v2", {}).message(),
            "there is no variable 'v2'");
  EXPECT_EQ(coordinator->write("v1", {}).message(),
            "variable 'v1': expected 512 bytes, found 0");
}

TEST(Coordinator, refusesOtherStrategies) {
  const std::string expected =
      "expected an artifact of the strategy 'parameter_server' for workers "
      "that take steps on their own";
  TestProgram good(1);
  build(good);
  EXPECT_EQ(errorOf(good, {.workers = 0}),
            "expected 1 to 1024 workers, found 0");
  TestProgram several(2);
  several.ret();
  EXPECT_EQ(errorOf(several), expected + ", which has one replica, found 2");
  TestProgram alone(1);
  alone.ret();
  EXPECT_EQ(errorOf(alone), expected + ", found one without servers");
  TestProgram own(1);
  own.variable("own", ElementType::i64, {});
  own.ret();
  own.role("server");
  own.ret();
  EXPECT_EQ(
      errorOf(own),
      expected +
          ", whose variables are all on servers, found 'own' with the workers");
  // As `parameter_server_sync` does it with one replica: no other worker can
  // change the variable.
  TestProgram direct(1);
  uint32_t rank = direct.role("server");
  uint32_t group = direct.group({0, rank});
  uint32_t variable = direct.variable("v", ElementType::i64, {});
  uint32_t pull = direct.channel();
  direct.start(CollectiveKind::broadcast, Reduction::none, pull, {variable}, {},
               group, 0, int32_t(rank));
  direct.wait(pull);
  direct.ret();
  direct.in("worker");
  uint32_t pulled = direct.buffer(Space::replica, ElementType::i64, {});
  direct.start(CollectiveKind::broadcast, Reduction::none, direct.channel(pull),
               {}, {pulled}, group, 0, int32_t(rank));
  direct.wait(pull);
  direct.ret();
  EXPECT_EQ(errorOf(good, {.session = {.checkMirrored = 2}}),
            "expected no checkMirrored with variables that other sessions "
            "change at any time");
  EXPECT_EQ(
      errorOf(good, {.session = {.checkRaces = true}}),
      "expected no checkRaces: accesses of different workers are not compared");
  EXPECT_EQ(errorOf(direct),
            "train.py:42: program 'main': start broadcast channel 0: it works "
            "on a variable itself, not on a copy, which "
            "several workers may change at any time: compile the step with "
            "--strategy=parameter_server");
}

TEST(Coordinator, traceHasAllWorkers) {
  TemporaryFile file("coordinator-trace.json");
  const std::string &path = file.path;
  TestProgram p(1);
  build(p);
  auto coordinator =
      coordinatorOf(p, {.workers = 2, .session = {.traceFile = path}});
  ASSERT_TRUE(coordinator->schedule(adds(1)).ok());
  ASSERT_TRUE(coordinator->join().ok());
  ASSERT_TRUE(coordinator->writeTrace().ok());
  nlohmann::json trace = nlohmann::json::parse(std::ifstream(path));
  std::set<std::string> processes;
  for (const nlohmann::json &event : trace["traceEvents"])
    if (event["name"] == "process_name")
      processes.insert(event["args"]["name"]);
  EXPECT_EQ(processes,
            (std::set<std::string>{"worker 0: replica 0", "worker 0: server0",
                                   "worker 0: server1", "worker 1: replica 0",
                                   "worker 1: server0", "worker 1: server1"}));
  EXPECT_EQ(coordinatorOf(p, {})->writeTrace().message(),
            "no trace was asked for when the coordinator was created");
}

} // namespace

//===- RaceTest.cpp - each rule of shared memory, disabled ----------------===//

#include "TestProgram.h"

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

/// A step as the compiler makes it: private gradients, reduced into shared
/// memory, a uniform update in a once section, a private use of the new value;
/// twice, in a loop.
struct Step {
  explicit Step(TestProgram &p, uint32_t group = 0) {
    gradient = p.buffer(Space::replica, ElementType::f32, {256});
    local = p.buffer(Space::replica, ElementType::f32, {256});
    weight = p.variable("w", ElementType::f32, {256});
    sum = p.buffer(Space::shared, ElementType::f32, {256});
    reduce = p.channel();
    update = p.channel();
    uint32_t i = p.reg(), one = p.reg(), two = p.reg();
    p.setRegister(one, 1);
    p.setRegister(two, 2);
    uint32_t head = p.branchGreaterEqual(i, two);
    p.launch("nothing", {weight}, {gradient});
    p.launch("nothing", {gradient}, {gradient});
    p.start(CollectiveKind::all_reduce, Reduction::sum, reduce, {gradient},
            {sum}, group);
    p.wait(reduce);
    p.launch("nothing", {sum, weight}, {local});
    p.once(update);
    p.launch("nothing", {sum, weight}, {weight});
    p.endOnce();
    p.addRegister(i, one);
    p.jump(head);
    p.patch(head);
    p.ret();
  }
  uint32_t gradient, local, weight, sum, reduce, update;
};

Status check(TestProgram &p, MemoryRule rule = MemoryRule::none) {
  VerifyOptions verify;
  verify.allowSharedWritesAnywhere = rule == MemoryRule::sharedWritesAnywhere;
  verify.allowSharedSubgroupResults = rule == MemoryRule::subgroupResultsShared;
  auto session = p.session({.checkRaces = true, .brokenRule = rule}, verify);
  Status status = session->run("main");
  if (status.ok())
    status = session->run("main");
  return status;
}

TEST(Races, noneInACorrectStep) {
  for (uint32_t replicas : {1, 2, 3, 8}) {
    TestProgram p(replicas);
    Step step(p);
    Status status = check(p);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

// "A replica passes a launch only when all its tiles are done."
TEST(Races, launchPassesEarly) {
  TestProgram p(2);
  Step step(p);
  Status status = check(p, MemoryRule::launchPassesEarly);
  EXPECT_EQ(status.code(), StatusCode::race);
}

// "Shared bytes are written only inside a once at which every replica has
// arrived": a slow reader of the previous value would be overtaken.
TEST(Races, onceRunsEarly) {
  TestProgram p(2);
  Step step(p);
  Status status = check(p, MemoryRule::onceRunsEarly);
  EXPECT_EQ(status.code(), StatusCode::race);
  EXPECT_NE(status.message().find("of space variable"), std::string::npos)
      << status.message();
}

// "Only then does any wait return."
TEST(Races, waitReturnsEarly) {
  TestProgram p(2);
  Step step(p);
  Status status = check(p, MemoryRule::waitReturnsEarly);
  EXPECT_EQ(status.code(), StatusCode::race);
  EXPECT_NE(status.message().find("of space shared"), std::string::npos)
      << status.message();
}

// Both commands of a race are named, with their lines.
TEST(Races, sharedWritesAnywhere) {
  TestProgram p(2);
  uint32_t shared = p.buffer(Space::shared, ElementType::f32, {256});
  p.launch("nothing", {}, {shared});
  p.barrier(p.channel());
  p.ret();
  Status status = check(p, MemoryRule::sharedWritesAnywhere);
  EXPECT_EQ(status.code(), StatusCode::race);
  EXPECT_EQ(status.message(), "race in program 'main': command 0 'launch "
                              "'nothing'' (train.py:42) of replica 1 writes "
                              "bytes 0 to 1024 of space shared, which command "
                              "0 'launch 'nothing'' (train.py:42) of "
                              "replica 0 writes, and nothing orders the two");
}

// "Results of a sub-group stay private unless the group covers the process."
TEST(Races, subgroupResultsShared) {
  TestProgram p(4);
  uint32_t a = p.buffer(Space::replica, ElementType::f32, {256});
  uint32_t shared = p.buffer(Space::shared, ElementType::f32, {256});
  for (const auto &ranks :
       {std::vector<uint32_t>{0, 1}, std::vector<uint32_t>{2, 3}}) {
    uint32_t channel = p.channel();
    p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {shared},
            p.group(ranks));
    p.wait(channel);
  }
  p.launch("nothing", {shared}, {});
  p.ret();
  EXPECT_EQ(check(p, MemoryRule::subgroupResultsShared).code(),
            StatusCode::race);
}

// "Operands of a collective belong to it from its start": writing one before
// the wait is a race, in whatever order it happened.
TEST(Races, operandWrittenBeforeWait) {
  TestProgram p(2);
  uint32_t a = p.buffer(Space::replica, ElementType::f32, {256});
  uint32_t sum = p.buffer(Space::shared, ElementType::f32, {256});
  uint32_t channel = p.channel();
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {sum});
  p.launch("nothing", {}, {a});
  p.wait(channel);
  p.ret();
  Status status = check(p);
  EXPECT_EQ(status.code(), StatusCode::race);
  EXPECT_NE(status.message().find("'start all_reduce sum channel 0'"),
            std::string::npos);
}

// Reading a result before the wait.
TEST(Races, resultReadBeforeWait) {
  TestProgram p(2);
  uint32_t a = p.buffer(Space::replica, ElementType::f32, {256});
  uint32_t channel = p.channel();
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {a});
  p.launch("nothing", {a}, {});
  p.wait(channel);
  p.ret();
  EXPECT_EQ(check(p).code(), StatusCode::race);
}

// A collective may overwrite memory that replicas have read before they
// arrived.
TEST(Races, collectiveIsABarrierForItsResults) {
  TestProgram p(3);
  uint32_t a = p.buffer(Space::replica, ElementType::f32, {256});
  uint32_t sum = p.buffer(Space::shared, ElementType::f32, {256});
  for (int i = 0; i < 2; ++i) {
    uint32_t channel = p.channel();
    p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {sum});
    p.wait(channel);
    p.launch("nothing", {sum}, {a});
  }
  p.ret();
  Status status = check(p);
  EXPECT_TRUE(status.ok()) << status.message();
}

} // namespace

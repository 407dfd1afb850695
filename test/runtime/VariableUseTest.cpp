//===- VariableUseTest.cpp - variables that a program needs ---------------===//

#include "TestProgram.h"

#include "runtime/api/lockstep.h"
#include "runtime/artifact/VariableUse.h"

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

using Names = std::set<std::string>;

/// A program with these commands, of two replicas.
class VariableUses : public testing::Test {
protected:
  VariableUse use(std::string_view program = "main") {
    p.ret();
    return variableUse(p.artifact()->tables(), program);
  }

  /// One replica writes a shared variable.
  void write(uint32_t variable) {
    p.once(p.channel());
    p.copy(local, variable);
    p.endOnce();
  }
  /// Branches if a host scalar is at least 1.
  uint32_t branch() {
    uint32_t count = p.reg(), one = p.reg();
    p.loadRegister(count, p.scalar("count", ElementType::i64));
    p.setRegister(one, 1);
    return p.branchGreaterEqual(count, one);
  }

  TestProgram p{2};
  uint32_t a = p.variable("a", ElementType::i64, {});
  uint32_t b = p.variable("b", ElementType::i64, {});
  uint32_t local = p.buffer(Space::replica, ElementType::i64, {});
};

TEST_F(VariableUses, whatIsReadFirst) {
  p.copy(a, local);
  p.once(p.channel());
  p.copy(local, a);
  p.copy(local, b);
  p.copy(b, a);
  p.endOnce();
  VariableUse found = use();
  EXPECT_EQ(found.read, Names{"a"});
  EXPECT_EQ(found.written, (Names{"a", "b"}));
}

TEST_F(VariableUses, writesBehindBranches) {
  uint32_t end = branch();
  write(a);
  p.patch(end);
  p.copy(a, local);
  VariableUse found = use();
  EXPECT_EQ(found.read, Names{"a"}) << "it may not have been written";
  EXPECT_TRUE(found.written.empty());
}

TEST_F(VariableUses, writesBehindWhereBranchesJoin) {
  // On both sides, b is written.
  uint32_t other = branch();
  write(b);
  uint32_t end = p.jump(0);
  p.patch(other);
  write(b);
  p.patch(end);
  p.copy(b, local);
  write(a);
  p.copy(a, local);
  VariableUse found = use();
  EXPECT_TRUE(found.read.empty());
  EXPECT_EQ(found.written, (Names{"a", "b"}));
}

TEST_F(VariableUses, loops) {
  // for (i = 0; i < count; ++i): a is written, then read; b is read.
  uint32_t i = p.reg(), count = p.reg(), one = p.reg();
  p.setRegister(i, 0);
  p.setRegister(one, 1);
  p.loadRegister(count, p.scalar("count", ElementType::i64));
  uint32_t head = p.branchGreaterEqual(i, count);
  write(a);
  p.copy(a, local);
  p.copy(b, local);
  p.addRegister(i, one);
  p.jump(head);
  p.patch(head);
  write(b);
  VariableUse found = use();
  EXPECT_EQ(found.read, Names{"b"});
  EXPECT_EQ(found.written, Names{"b"}) << "there may be no iteration";
}

TEST_F(VariableUses, outputs) {
  p.output("a", a);
  p.output("b", b);
  write(b);
  EXPECT_EQ(use().read, Names{"a"});
}

TEST_F(VariableUses, otherPrograms) {
  p.copy(a, local);
  EXPECT_TRUE(use("evaluate").read.empty());
}

TEST_F(VariableUses, commandsThatRead) {
  uint32_t c = p.variable("c", ElementType::i64, {}, /*perReplica=*/true);
  uint32_t d = p.variable("d", ElementType::i64, {}, /*perReplica=*/true);
  uint32_t sum = p.buffer(Space::shared, ElementType::i64, {});
  p.loadRegister(p.reg(), a);
  p.launch("add_scalar", {b}, {local}, {0});
  uint32_t channel = p.channel();
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {c}, {sum});
  p.wait(channel);
  p.launch("add_scalar", {local}, {d}, {0});
  VariableUse found = use();
  EXPECT_EQ(found.read, (Names{"a", "b", "c"}));
  EXPECT_EQ(found.written, Names{"d"});
}

// Through the C API: a program is not run on variables that have no value.
TEST(VariableUse, isCheckedBeforeARun) {
  TemporaryFile file("unset.lockstep");
  TestProgram p(2);
  uint32_t shared = p.variable("shared", ElementType::i64, {3});
  uint32_t own = p.variable("own", ElementType::f32, {}, /*perReplica=*/true);
  p.variable("unused", ElementType::i64, {});
  uint32_t local = p.buffer(Space::replica, ElementType::i64, {3});
  uint32_t copy = p.buffer(Space::replica, ElementType::f32, {});
  p.copy(shared, local);
  p.copy(own, copy);
  p.ret();
  p.file();
  ASSERT_TRUE(p.writer.writeFile(file.path).ok());
  lockstep_session *session = nullptr;
  ASSERT_EQ(lockstep_session_open(file.path.c_str(), nullptr, &session),
            LOCKSTEP_OK)
      << lockstep_last_error();
  EXPECT_EQ(lockstep_run(session, 0), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(lockstep_last_error(),
               "expected values of these variables, which the program reads, "
               "and which have no initial value:\n"
               "  'shared' (3xi64)\n"
               "  'own' (f32) of replica 0");
  int64_t values[3] = {1, 2, 3};
  float value = 4;
  ASSERT_EQ(lockstep_variable_set(session, "shared", 0, values, sizeof(values)),
            LOCKSTEP_OK);
  ASSERT_EQ(lockstep_variable_set(session, "own", 0, &value, sizeof(value)),
            LOCKSTEP_OK);
  EXPECT_EQ(lockstep_run(session, 0), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(lockstep_last_error(),
               "expected values of these variables, which the program reads, "
               "and which have no initial value:\n"
               "  'own' (f32) of replica 1");
  ASSERT_EQ(lockstep_variable_set(session, "own", 1, &value, sizeof(value)),
            LOCKSTEP_OK);
  EXPECT_EQ(lockstep_run(session, 0), LOCKSTEP_OK) << lockstep_last_error();
  lockstep_session_close(session);
}

} // namespace

//===- InterpreterTest.cpp - the interpreter's execution of steps ---------===//
//
// Tests of the interpreter: delays, blocked sets, groups, blocks. (For the
// results of operations see test/tools/lockstep-interpret.)
//
//===----------------------------------------------------------------------===//

#include "Trial.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

namespace lockstep::test {
namespace {

class Interpreter : public testing::Test {
protected:
  /// Executes `text` once, with the check off.
  Execution run(const std::string &text, int64_t replicas,
                std::optional<uint64_t> schedule = std::nullopt) {
    Trial trial(*context, text, replicas);
    EXPECT_TRUE(trial.isValid());
    return trial.execute(1, schedule);
  }

  std::unique_ptr<mlir::MLIRContext> context = makeContext();
};

std::string lowered(const std::string &groups, const std::string &body) {
  return groups +
         "func.func @step(%rank: tensor<i32> {device.binding = "
         "#device.binding<rank \"\">}) {\n"
         "  %me = tensor.extract %rank[] : tensor<i32>\n  %one = "
         "arith.constant 1 : i32\n"
         "  %second = arith.cmpi eq, %me, %one : i32\n" +
         body + "  return\n}\n";
}

std::string barrier(const std::string &group) {
  return "  collective.barrier @" + group + "\n";
}

/// Ranks 0 and 1 in @a, 1 and 2 in @b, 0 and 2 in @c.
const std::string kRing =
    "collective.group @a {ranks = array<i64: 0, 1>}\ncollective.group @b "
    "{ranks = array<i64: 1, 2>}\n"
    "collective.group @c {ranks = array<i64: 0, 2>}\n";

/// Each rank exchanges with its left neighbour, then with its right one: a
/// cycle of three ranks, all of which are reported.
TEST_F(Interpreter, NamesAllWhoWaitInACycle) {
  std::string text =
      lowered(kRing, "  %zero = arith.constant 0 : i32\n  %first = arith.cmpi "
                     "eq, %me, %zero : i32\n"
                     "  scf.if %first {\n" +
                         barrier("a") + barrier("c") +
                         "  } else {\n  scf.if %second {\n" + barrier("b") +
                         barrier("a") + "  } else {\n" + barrier("c") +
                         barrier("b") + "  }\n  }\n");
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Execution execution = run(text, 3, seed);
    EXPECT_EQ(execution.outcome, Outcome::Blocks);
    EXPECT_NE(
        execution.message.find(
            "replica 0 waits here, in 'collective.barrier', for replica 1"),
        std::string::npos)
        << execution.message;
    EXPECT_NE(
        execution.message.find(
            "replica 1 waits here, in 'collective.barrier', for replica 2"),
        std::string::npos)
        << execution.message;
    EXPECT_NE(
        execution.message.find(
            "replica 2 waits here, in 'collective.barrier', for replica 0"),
        std::string::npos)
        << execution.message;
  }
}

/// Groups without common ranks do not wait for each other.
TEST_F(Interpreter, GroupsMeetByThemselves) {
  std::string text =
      lowered("collective.group @a {ranks = array<i64: 1>}\ncollective.group "
              "@b {ranks = array<i64: 0, 2>}\n",
              "  scf.if %second {\n" + barrier("a") + barrier("a") +
                  "  } else {\n" + barrier("b") + "  }\n");
  for (uint64_t seed = 0; seed < 8; ++seed)
    EXPECT_EQ(run(text, 3, seed).message, "");
}

/// A non-member of the group skips the collective, and keeps its value: 0 + 2
/// on ranks 0 and 2, its own number on rank 1.
TEST_F(Interpreter, OthersPassBy) {
  std::string text =
      "collective.group @a {ranks = array<i64: 0, 2>}\nreplica.variable @w : "
      "tensor<i32> {synchronization = "
      "#replica.synchronization<on_read>, aggregation = "
      "#replica.aggregation<sum>}\n"
      "func.func @step(%rank: tensor<i32> {device.binding = "
      "#device.binding<rank \"\">}, %w: tensor<i32> {device.binding = "
      "#device.binding<variable \"w\">}) -> (tensor<i32> {device.binding = "
      "#device.binding<variable \"w\">}, tensor<i32> "
      "{device.binding = #device.binding<metric \"same\">}) {\n"
      "  %h = collective.start all_reduce sum @a (%rank : tensor<i32>) -> "
      "!collective.pending<tensor<i32>>\n"
      "  %g = collective.wait %h (%rank : tensor<i32>) : "
      "!collective.pending<tensor<i32>> -> tensor<i32>\n"
      "  collective.barrier @a\n  %i = tensor.extract %g[] : tensor<i32>\n  "
      "%zero = arith.constant 0 : i32\n"
      "  %some = arith.cmpi ne, %i, %zero : i32\n  %n = arith.extui %some : i1 "
      "to i32\n"
      "  %same = tensor.from_elements %n : tensor<i32>\n  return %g, %same : "
      "tensor<i32>, tensor<i32>\n}\n";
  // Rank 0 has 2, rank 1 has 1: not zero on any.
  for (uint64_t seed = 0; seed < 8; ++seed)
    EXPECT_EQ(run(text, 3, seed).message, "");
}

TEST_F(Interpreter, RefusesWhatItDoesNotKnow) {
  const std::pair<std::string, std::string> cases[] = {
      {lowered("collective.group @all\n",
               "  %h = collective.start broadcast none @all root 0 (%rank : "
               "tensor<i32>) -> !collective.pending<>\n"
               "  collective.wait %h (%rank : tensor<i32>) : "
               "!collective.pending<>\n"),
       "expected a root among the ranks of the group, and a result for each "
       "operand: roles are not executed"},
      {"func.func @step(%w: tensor<i32> {device.binding = "
       "#device.binding<variable \"w\">}) {\n  return\n}\n",
       "expected a variable 'w', to which the step is bound"},
      {"replica.step @step(%n: tensor<i32> {replica.batch = \"n\"}) {\n  "
       "llvm.br ^a\n^a:\n  replica.return\n}\n",
       "expected a branch that the interpreter knows, found 'llvm.br'"}};
  for (const auto &[text, expected] : cases) {
    Execution execution = run(text, 2);
    EXPECT_EQ(execution.outcome, Outcome::Fails);
    EXPECT_NE(execution.message.find(expected), std::string::npos)
        << expected << "\n"
        << execution.message;
  }
}

/// Sizes that are not divisible are an error, not an out-of-bounds read.
TEST_F(Interpreter, ExchangesWholeParts) {
  std::string text = "collective.group @all\n"
                     "func.func @step(%x: tensor<3xi32> {device.binding = "
                     "#device.binding<batch \"x\">}) {\n"
                     "  %n = arith.constant 3 : index\n"
                     "  %d = tensor.cast %x : tensor<3xi32> to tensor<?xi32>\n"
                     "  %h = collective.start all_to_all none @all axis 0 (%d "
                     ": tensor<?xi32>) sizes(%n) -> "
                     "!collective.pending<tensor<?xi32>>\n"
                     "  %g = collective.wait %h (%d : tensor<?xi32>) : "
                     "!collective.pending<tensor<?xi32>> -> tensor<?xi32>\n"
                     "  return\n}\n";
  EXPECT_EQ(run(text, 3).message, "");
  EXPECT_EQ(run(text, 2).outcome, Outcome::ShapesDiffer);
}

/// One value is read for all copies, so there must be one.
TEST_F(Interpreter, ReadsOfDifferentCopiesAreErrors) {
  std::string text =
      "replica.variable @w : tensor<i32>\nreplica.step @step() {\n  %id = "
      "replica.id : tensor<i32>\n"
      "  replica.assign @w, %id : tensor<i32>\n  replica.merge_call {\n    %w "
      "= replica.read @w : tensor<i32>\n"
      "    replica.assign @w, %w : tensor<i32>\n  }\n  replica.return\n}\n";
  EXPECT_EQ(run(text, 2).outcome, Outcome::CopiesDiffer);
}

/// A failed execution leaves no state.
TEST_F(Interpreter, RunsAgainAfterAnError) {
  std::string text = "replica.step @step(%b: tensor<i1> {replica.batch = "
                     "\"b\"}) {\n  %c = tensor.extract %b[] : tensor<i1>\n"
                     "  scf.if %c {\n    %0 = replica.all_reduce sum %n : "
                     "tensor<i32>\n  }\n  replica.return\n}\n";
  text.replace(text.find("%b: tensor<i1>"), 0,
               "%n: tensor<i32> {replica.batch = \"n\"}, ");
  Trial trial(*context, text, 2);
  uint64_t ended = 0, blocked = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Outcome outcome = trial.execute(seed, seed).outcome;
    // Results depend only on the inputs, not on earlier executions and delays.
    EXPECT_EQ(trial.execute(seed, seed + 100).outcome, outcome);
    ended += outcome == Outcome::Ends;
    blocked += outcome == Outcome::Blocks;
  }
  EXPECT_GT(ended, 0u);
  EXPECT_GT(blocked, 0u);
  EXPECT_EQ(ended + blocked, 40u);
}

} // namespace
} // namespace lockstep::test

//===- SuiteTest.cpp - programs with their verdicts -----------------------===//

#include "ProgramText.h"

#include "runtime/artifact/Verifier.h"
#include "runtime/verification/Simulator.h"
#include "runtime/verification/Verification.h"
#include "test/support/Suite.h"

namespace lockstep::runtime::verification::test {

namespace {

const std::vector<Case> &suite() {
  static const std::vector<Case> cases = readCases(LOCKSTEP_VERIFICATION_SUITE);
  return cases;
}

/// Starts and waits alternate on all ways, which the loader checks for each
/// program by itself: what is wrong with the cases is something that only shows
/// when ranks run against each other.
void expectLoadable(const artifact::Artifact &tables) {
  VerifyOptions options;
  for (const artifact::Program *program : *tables.programs()) {
    Status status = verify::verifyFlow({tables, options}, *program);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

class Suite : public testing::TestWithParam<Case> {};

TEST_P(Suite, HasItsVerdict) {
  std::vector<uint8_t> bytes = assemble(GetParam().text);
  expectLoadable(tablesOf(bytes));
  Expected<Proof> proof = prove(tablesOf(bytes), "step");
  ASSERT_TRUE(proof) << proof.status().message();
  EXPECT_STREQ(artifact::EnumNameVerdict(proof->verdict),
               artifact::EnumNameVerdict(GetParam().verdict))
      << proof->reason;
}

/// A verdict "wrong" comes with a way on which somebody waits for ever, which
/// can be gone again.
TEST_P(Suite, ReplaysItsCounterExample) {
  std::vector<uint8_t> bytes = assemble(GetParam().text);
  Expected<Proof> proof = prove(tablesOf(bytes), "step");
  ASSERT_TRUE(proof) << proof.status().message();
  if (proof->verdict != Verdict::wrong || proof->counterExample.places.empty())
    return;
  Expected<Simulation> simulation =
      simulate(tablesOf(bytes), "step", proof->counterExample.decisions);
  ASSERT_TRUE(simulation) << simulation.status().message();
  EXPECT_TRUE(simulation->blocks);
  EXPECT_EQ(tellChain(simulation->end), proof->reason);
}

INSTANTIATE_TEST_SUITE_P(Verification, Suite, testing::ValuesIn(suite()),
                         lockstep::test::testNameOf<Case>);

using Mutation = lockstep::test::MutationTest<BrokenRule>;

TEST_P(Mutation, LetsAWrongProgramPass) {
  expectToPassWithoutRule(suite(), [](const Case &c) {
    std::vector<uint8_t> bytes = assemble(c.text);
    Options options;
    options.brokenRule = GetParam();
    // Without its rules the proof may follow a program for ever.
    options.maxSteps = 100'000;
    Expected<Proof> proof = prove(tablesOf(bytes), "step", options);
    EXPECT_TRUE(proof) << proof.status().message();
    return proof && proof->verdict == Verdict::proven;
  });
}

/// Conditions of several roles that depend on the same values may be the same:
/// without that rule, they are called wrong.
TEST(AllIsFeasible, CallsWrongWhatIsNotKnown) {
  std::vector<std::string> wrong;
  for (const Case &c : suite()) {
    if (c.verdict != Verdict::not_provable)
      continue;
    std::vector<uint8_t> bytes = assemble(c.text);
    Options options;
    options.brokenRule = BrokenRule::allIsFeasible;
    Expected<Proof> proof = prove(tablesOf(bytes), "step", options);
    ASSERT_TRUE(proof) << proof.status().message();
    if (proof->verdict == Verdict::wrong)
      wrong.push_back(c.name);
  }
  EXPECT_FALSE(wrong.empty());
}

/// Each turn may go either way, and nobody knows how many there are: what is
/// kept of that has a bound.
TEST(Limits, EndASearchThatKeepsTooMuch) {
  std::vector<uint8_t> bytes = assemble(R"(
role worker 1
role server 1
group both 0 1
int scalar turns
program worker {
  repeat turns {
    launch change value -> value
    start g broadcast both root 0 value
    wait g
    launch small value -> less
    if less {
      barrier b both
    }
  }
}
program server {
  repeat turns {
    start g broadcast both root 0 -> value
    wait g
    launch alsoSmall value -> less
    if less {
      barrier b both
    }
  }
}
)");
  Options options;
  options.maxSteps = ~uint64_t(0);
  options.maxBytes = uint64_t(4) << 20;
  Expected<Proof> proof = prove(tablesOf(bytes), "step", options);
  ASSERT_TRUE(proof) << proof.status().message();
  EXPECT_EQ(proof->verdict, Verdict::not_provable);
  EXPECT_TRUE(
      proof->reason.starts_with("more than 4 MiB of states; could not decide "
                                "the condition of role 'worker'"))
      << proof->reason;
}

std::vector<BrokenRule> allRules() {
  std::vector<BrokenRule> rules;
  for (int rule = int(BrokenRule::none) + 1;
       rule <= int(BrokenRule::waysAreEqual); ++rule)
    rules.push_back(BrokenRule(rule));
  return rules;
}

INSTANTIATE_TEST_SUITE_P(Verification, Mutation, testing::ValuesIn(allRules()),
                         [](const auto &info) {
                           return "Rule" + std::to_string(int(info.param));
                         });

} // namespace
} // namespace lockstep::runtime::verification::test

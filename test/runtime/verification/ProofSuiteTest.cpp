//===- ProofSuiteTest.cpp - programs with their verdicts ------------------===//

#include "Oracle.h"
#include "ProgramText.h"

#include "runtime/artifact/Verifier.h"
#include "runtime/verification/Verification.h"
#include "test/support/Suite.h"

namespace lockstep::runtime::verification::test {

namespace {

const std::vector<Case> &suite() {
  static const std::vector<Case> cases = readCases(LOCKSTEP_VERIFICATION_SUITE);
  return cases;
}

/// Starts and waits alternate on all paths, which the loader checks for each
/// single program: the errors of the cases concern the interaction of ranks.
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
  EXPECT_EQ(proof->isProven, GetParam().isProven()) << proof->reason;
  EXPECT_EQ(proof->isProven, proof->reason.empty());
  EXPECT_EQ(checkProven(tablesOf(bytes), "step").ok(), proof->isProven);
}

/// Cases called "blocks" block on some data, all others on none.
TEST_P(Suite, EndsOrBlocksWhenItIsExecuted) {
  if (GetParam().verdict == Case::Verdict::mismatch)
    return;
  std::vector<uint8_t> bytes = assemble(GetParam().text);
  bool blocks = false;
  for (uint64_t seed = 0; seed < 2000 && !blocks; ++seed)
    blocks = execute(tablesOf(bytes), seed) == Outcome::blocks;
  EXPECT_EQ(blocks, GetParam().isWrong());
}

INSTANTIATE_TEST_SUITE_P(Verification, Suite, testing::ValuesIn(suite()),
                         lockstep::test::testNameOf<Case>);

using Mutation = lockstep::test::MutationTest<ProofRule>;

TEST_P(Mutation, LetsAWrongProgramPass) {
  expectToPassWithoutRule(suite(), [](const Case &c) {
    std::vector<uint8_t> bytes = assemble(c.text);
    Expected<Proof> proof = prove(tablesOf(bytes), "step", GetParam());
    EXPECT_TRUE(proof) << proof.status().message();
    return proof && proof->isProven;
  });
}

std::vector<ProofRule> allRules() {
  std::vector<ProofRule> rules;
  for (int rule = int(ProofRule::none) + 1;
       rule <= int(ProofRule::variablesAreKept); ++rule)
    rules.push_back(ProofRule(rule));
  return rules;
}

INSTANTIATE_TEST_SUITE_P(Verification, Mutation, testing::ValuesIn(allRules()),
                         [](const auto &info) {
                           return "Rule" + std::to_string(int(info.param));
                         });

} // namespace
} // namespace lockstep::runtime::verification::test

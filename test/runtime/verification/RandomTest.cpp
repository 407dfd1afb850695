//===- RandomTest.cpp - the proof on random programs ----------------------===//
//
// Each random program is proven or not, and that is compared with executions on
// data (Oracle.h). By hand: LOCKSTEP_RANDOM_PROGRAMS=100000
// lockstep-verification-tests --gtest_filter='RandomPrograms.*'
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "ProgramText.h"
#include "RandomArtifact.h"

#include "runtime/artifact/Verifier.h"
#include "runtime/verification/Verification.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace lockstep::runtime::verification::test {
namespace {

bool isLoadable(const artifact::Artifact &tables) {
  VerifyOptions options;
  for (const artifact::Program *program : *tables.programs())
    if (!verify::verifyFlow({tables, options}, *program).ok())
      return false;
  return true;
}

bool blocksOnData(const artifact::Artifact &tables, uint64_t executions) {
  for (uint64_t seed = 0; seed < executions; ++seed)
    if (execute(tables, seed) == Outcome::blocks)
      return true;
  return false;
}

TEST(RandomPrograms, ProvenOnesNeverBlock) {
  const char *requested = std::getenv("LOCKSTEP_RANDOM_PROGRAMS");
  uint64_t programs = requested ? std::strtoull(requested, nullptr, 10) : 2000;
  uint64_t checked = 0, proven = 0, blocking = 0;
  // Counts of programs without errors that a compiler could generate.
  uint64_t correct = 0, correctAndProven = 0;
  for (uint64_t seed = 0; checked < programs; ++seed) {
    RandomProgram program = randomProgram(seed);
    std::vector<uint8_t> bytes = assemble(program.text);
    const artifact::Artifact &tables = tablesOf(bytes);
    // Mutation may yield single programs that the loader rejects.
    if (!isLoadable(tables))
      continue;
    ++checked;
    Expected<Proof> proof = prove(tables, "step");
    ASSERT_TRUE(proof) << proof.status().message() << "\nseed " << seed << "\n"
                       << program.text;
    bool isCorrect = !program.isMutated && !program.dividesByRank;
    correct += isCorrect;
    if (proof->isProven) {
      ++proven;
      correctAndProven += isCorrect;
      ASSERT_FALSE(blocksOnData(tables, 16))
          << "proven, but blocks; seed " << seed << "\n"
          << program.text;
    } else if (blocksOnData(tables, 64)) {
      ++blocking;
    } else if (isCorrect && std::getenv("LOCKSTEP_SHOW_REFUSED")) {
      std::cout << "refused; seed " << seed << ": " << proof->reason << "\n"
                << program.text;
    }
  }
  std::cout << checked << " programs: " << proven << " proven, "
            << checked - proven << " refused, " << blocking
            << " of which are seen to block; of " << correct
            << " correct ones without paths by rank, " << correctAndProven
            << " are proven\n";
  EXPECT_GE(correctAndProven * 1000, correct * 995);
  EXPECT_GT(proven * 4, checked);
  EXPECT_GT(blocking * 10, checked);
}

} // namespace
} // namespace lockstep::runtime::verification::test

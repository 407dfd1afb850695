//===- RandomTest.cpp - verdicts on random programs -----------------------===//
//
// Each random program gets its verdict, and the verdict is compared with
// executions on data (Oracle.h). By hand: LOCKSTEP_RANDOM_PROGRAMS=100000
// lockstep-verification-tests --gtest_filter='RandomPrograms.*'
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "ProgramText.h"
#include "RandomProgram.h"

#include "runtime/artifact/Verifier.h"
#include "runtime/verification/Simulator.h"
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

TEST(RandomPrograms, VerdictsHold) {
  const char *wanted = std::getenv("LOCKSTEP_RANDOM_PROGRAMS");
  uint64_t programs = wanted ? std::strtoull(wanted, nullptr, 10) : 2000;
  uint64_t checked = 0, proven = 0, wrong = 0, notProvable = 0, seen = 0;
  for (uint64_t seed = 0; checked < programs; ++seed) {
    std::string text = randomProgram(seed);
    std::vector<uint8_t> bytes = assemble(text);
    const artifact::Artifact &tables = tablesOf(bytes);
    // Spoiling may give programs that the loader refuses one by one.
    if (!isLoadable(tables))
      continue;
    ++checked;
    Options options;
    options.maxSteps = 200'000;
    Expected<Proof> proof = prove(tables, "step", options);
    ASSERT_TRUE(proof) << proof.status().message() << "\nseed " << seed << "\n"
                       << text;
    switch (proof->verdict) {
    case Verdict::proven:
      ++proven;
      ASSERT_FALSE(blocksOnData(tables, 16))
          << "proven, but blocks; seed " << seed << "\n"
          << text;
      break;
    case Verdict::wrong: {
      ++wrong;
      Expected<Simulation> simulation =
          simulate(tables, "step", proof->counterExample.decisions);
      ASSERT_TRUE(simulation)
          << simulation.status().message() << "\nseed " << seed << "\n"
          << text;
      ASSERT_TRUE(simulation->blocks)
          << proof->reason << "\nseed " << seed << "\n"
          << text;
      bool found = blocksOnData(tables, 64);
      seen += found;
      if (!found && std::getenv("LOCKSTEP_SHOW_UNSEEN"))
        std::cout << "wrong, but not seen to block; seed " << seed << ": "
                  << proof->reason << "\n"
                  << text;
      break;
    }
    case Verdict::not_provable:
      ++notProvable;
      if (std::getenv("LOCKSTEP_SHOW_UNSEEN"))
        std::cout << "not provable; seed " << seed << ": " << proof->reason
                  << "\n"
                  << text;
      break;
    }
  }
  std::cout << checked << " programs: " << proven << " proven, " << wrong
            << " wrong (" << seen << " of them seen to block on random data), "
            << notProvable << " not provable\n";
  EXPECT_LE(notProvable * 100, checked);
  // Programs of both kinds were there, and most of what is called wrong blocks
  // on data soon found.
  EXPECT_GT(proven * 4, checked);
  EXPECT_GT(wrong * 10, checked);
  EXPECT_GT(seen * 10, wrong * 8);
}

} // namespace
} // namespace lockstep::runtime::verification::test

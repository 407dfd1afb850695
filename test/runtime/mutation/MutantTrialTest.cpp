//===- MutantTrialTest.cpp - outcomes of trials ---------------------------===//

#include "MutantTrial.h"

#include "TestProgram.h"

#include <gtest/gtest.h>

#include <unistd.h>

using namespace lockstep::runtime;
using namespace lockstep::runtime::mutation;
using namespace lockstep::runtime::test;

namespace {

TEST(Trial, completes) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    TrialResult result = tryArtifact(smallFile(), {.seed = seed});
    EXPECT_EQ(result.outcome, Outcome::completed) << result.status.message();
  }
}

TEST(Trial, refusesWhatIsDamaged) {
  std::vector<std::byte> file = smallFile();
  file.pop_back();
  TrialResult result = tryArtifact(file, {});
  EXPECT_EQ(result.outcome, Outcome::refused);
  EXPECT_EQ(result.status.code(), StatusCode::corrupted)
      << result.status.message();
}

TEST(Trial, endsWithTheErrorOfARun) {
  TestProgram p(1);
  uint32_t n = p.reg();
  p.setRegister(n, 100);
  uint32_t part =
      p.dynamicBuffer(Space::replica, ElementType::f32, {-1}, {int32_t(n)}, 16);
  uint32_t all =
      p.dynamicBuffer(Space::replica, ElementType::f32, {-1}, {int32_t(n)}, 16);
  p.copy(part, all);
  p.ret();
  TrialResult result = tryArtifact(p.file(), {});
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.status.code(), StatusCode::outOfRange)
      << result.status.message();
}

/// Tries it in a separate process, which ends with this status.
constexpr int exitStatus = 10;
[[noreturn]] void tryAndExit(const std::vector<std::byte> &file) {
  TrialResult result = tryArtifact(file, {});
  std::fprintf(stderr, "%s\n", result.status.message().c_str());
  ::_exit(exitStatus + int(result.outcome));
}

TEST(TrialDeathTest, givesUpLoopsWithoutAnEnd) {
  TestProgram p(1);
  uint32_t n = p.reg(), one = p.reg();
  p.setRegister(one, 1);
  uint32_t head = p.branchGreaterEqual(n, one);
  p.jump(head);
  p.patch(head);
  p.ret();
  EXPECT_EXIT(tryAndExit(p.file()),
              testing::ExitedWithCode(exitStatus + int(Outcome::endless)),
              "it went on for too long");
}

} // namespace

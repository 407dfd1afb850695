//===- Suite.h - programs with their verdicts -------------------*- C++ -*-===//
//
// Shared by the suites of the two verifiers: the compiler's
// (test/passes/Verify/suite), and that of artifacts
// (test/runtime/verification/suite.txt). Both have wrong programs beside
// correct ones, and both show for each rule that it is necessary.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_SUPPORT_SUITE_H
#define LOCKSTEP_TEST_SUPPORT_SUITE_H

#include <gtest/gtest.h>

#include <cctype>
#include <ostream>
#include <string>
#include <vector>

namespace lockstep::test {

/// One program. Derived classes define whether it is wrong (`isWrong`).
struct SuiteCase {
  std::string name, text;
};

inline std::ostream &operator<<(std::ostream &stream,
                                const SuiteCase &program) {
  return stream << program.name;
}

/// A name as gtest takes it: "two groups, in one order" is TwoGroupsInOneOrder.
inline std::string testName(const std::string &words) {
  std::string name;
  bool capital = true;
  for (char c : words) {
    bool isPart = std::isalnum(static_cast<unsigned char>(c));
    if (isPart)
      name += capital ? static_cast<char>(std::toupper(c)) : c;
    capital = !isPart;
  }
  return name;
}

/// Names the tests of a suite; no two programs have one name.
template <typename Case>
std::string testNameOf(const testing::TestParamInfo<Case> &info) {
  return testName(info.param.name);
}

/// Each rule is there for a reason: without it some wrong program of the suite
/// passes.
template <typename Rule>
class MutationTest : public testing::TestWithParam<Rule> {
protected:
  /// `passes` returns whether a wrong program passes only without the current
  /// rule.
  template <typename Case, typename Passes>
  void expectToPassWithoutRule(const std::vector<Case> &suite, Passes passes) {
    for (const Case &program : suite)
      if (program.isWrong() && passes(program))
        return;
    ADD_FAILURE() << "no wrong program of the suite passes";
  }
};

} // namespace lockstep::test

#endif // LOCKSTEP_TEST_SUPPORT_SUITE_H

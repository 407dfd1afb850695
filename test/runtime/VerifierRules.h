//===- VerifierRules.h - shared by tests of the verifier --------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_VERIFIERRULES_H
#define LOCKSTEP_TEST_RUNTIME_VERIFIERRULES_H

#include "TestProgram.h"

#include <functional>
#include <string>

namespace lockstep::runtime::test {

/// A rule of the second verification.
struct Rule {
  const char *name;
  /// Breaks the artifact.
  std::function<void(TestProgram &)> build;
  /// Part of the message.
  const char *message;
};

inline std::ostream &operator<<(std::ostream &stream, const Rule &rule) {
  return stream << rule.name;
}

inline uint32_t f32(TestProgram &p, Space space, int64_t size) {
  return p.buffer(space, ElementType::f32, {size});
}

/// Each rule rejects the artifact that violates it (VerifierTest.cpp).
class Verifier : public testing::TestWithParam<Rule> {};
inline std::string ruleName(const testing::TestParamInfo<Rule> &info) {
  return info.param.name;
}

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_VERIFIERRULES_H

//===- RandomArtifact.h - programs by chance --------------------*- C++ -*-===//
//
// A random program begins as one story that all ranks agree on: exchanges,
// barriers, sections, choices and loops, on values that they have in common;
// each role gets its part of it. About every second one is then spoilt at one
// or two places: commands change their order, vanish, or depend on something
// else.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_RUNTIME_VERIFICATION_RANDOMARTIFACT_H
#define LOCKSTEP_TEST_RUNTIME_VERIFICATION_RANDOMARTIFACT_H

#include <cstdint>
#include <string>

namespace lockstep::runtime::verification::test {

struct RandomProgram {
  /// In the language of ProgramText.h.
  std::string text;
  bool isSpoilt = false;
  /// Workers follow different paths by their rank, which no proof accepts.
  bool dividesByRank = false;
};

/// Deterministic in the seed.
RandomProgram randomProgram(uint64_t seed);

} // namespace lockstep::runtime::verification::test

#endif // LOCKSTEP_TEST_RUNTIME_VERIFICATION_RANDOMARTIFACT_H

//===- RandomArtifact.h - random programs -----------------------*- C++ -*-===//
//
// A random program begins as one sequence of statements for all ranks:
// exchanges, barriers, once sections, branches and loops, on values that are
// equal on all ranks. The program of a role is its projection. About every
// second one is then mutated at one or two places: commands are reordered or
// removed, or conditions depend on other values.
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
  /// Whether it was mutated.
  bool isMutated = false;
  /// Workers follow different paths by their rank, which no proof accepts.
  bool dividesByRank = false;
};

/// Deterministic in the seed.
RandomProgram randomProgram(uint64_t seed);

} // namespace lockstep::runtime::verification::test

#endif // LOCKSTEP_TEST_RUNTIME_VERIFICATION_RANDOMARTIFACT_H

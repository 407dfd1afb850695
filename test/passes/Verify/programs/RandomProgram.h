//===- RandomProgram.h - random programs ------------------------*- C++ -*-===//
//
// A random step of replica IR: nested branches, switches and loops, ragged
// gathers, merge_calls, variables of all kinds; conditions and trip counts from
// the number of the replica, from its batch, from host scalars, from constants,
// from what all replicas have reduced or gathered, from variables. The
// generator keeps track of what is equal on all replicas, so that a program
// without a mutation issues the same collectives everywhere. About every second
// one is mutated at one place: a value that should be equal is not, or one side
// of a branch has a statement that the other side lacks.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_RANDOMPROGRAM_H
#define LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_RANDOMPROGRAM_H

#include <cstdint>
#include <string>

namespace lockstep::test {

struct RandomProgram {
  std::string text;
  /// Whether it was mutated; the verdict depends on the program, not on this.
  bool isMutated = false;
};

/// Deterministic in the seed.
RandomProgram randomProgram(uint64_t seed);

} // namespace lockstep::test

#endif

//===- RandomProgram.h - Programs by chance ---------------------*- C++ -*-===//
//
// A random step of replica IR: nested branches, switches and loops, ragged
// gathers, merge_calls, variables of all kinds; conditions and trip counts from
// the number of the replica, from its batch, from host scalars, from constants,
// from what all replicas have reduced or gathered, from variables. The
// generator keeps track of what is equal on all replicas, so that a program it
// has not spoiled issues the same everywhere. About every second one is spoilt
// at one place: something that should be equal is not, or one side of a branch
// gets something that the other side has not.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_RANDOMPROGRAM_H
#define LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_RANDOMPROGRAM_H

#include <cstdint>
#include <string>

namespace lockstep::test {

struct RandomProgram {
  std::string text;
  /// Whether it was spoilt; what the programs do decides, not this.
  bool spoilt = false;
};

/// The same seed gives the same program.
RandomProgram randomProgram(uint64_t seed);

} // namespace lockstep::test

#endif

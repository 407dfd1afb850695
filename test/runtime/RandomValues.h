//===- RandomValues.h - random operands of collectives ----------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_RANDOMVALUES_H
#define LOCKSTEP_TEST_RUNTIME_RANDOMVALUES_H

#include <cstdint>
#include <random>

namespace lockstep::runtime::test {

/// A uniform value in [-2, 2]. `std::uniform_real_distribution` computes two
/// logarithms for each value, which was a third of the time of the tests of
/// collectives under a sanitizer.
inline float randomReal(std::mt19937 &random) {
  return float(int32_t(random())) * 0x1p-30f;
}

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_RANDOMVALUES_H

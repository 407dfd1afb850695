//===- NearFloats.h - sums of floats in another order -----------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_NEARFLOATS_H
#define LOCKSTEP_TEST_RUNTIME_NEARFLOATS_H

#include "runtime/schema/Types.h"

#include <cstddef>
#include <cstring>
#include <span>

#include <gtest/gtest.h>

namespace lockstep::runtime::test {

template <typename Float> double readAs(const std::byte *from) {
  Float value;
  std::memcpy(&value, from, sizeof(value));
  return double(value);
}

inline double readFloat(const std::byte *from, artifact::ElementType element) {
  using artifact::ElementType;
  switch (element) {
  case ElementType::f32:
    return readAs<float>(from);
  case ElementType::f64:
    return readAs<double>(from);
  case ElementType::f16:
    return readAs<_Float16>(from);
  default:
    return readAs<__bf16>(from);
  }
}

/// Sums of at most eight operands in [-2, 2], which a library has rounded in
/// another order; of f16 and bf16 after each addition.
inline void expectNear(std::span<const std::byte> found,
                       std::span<const std::byte> expected,
                       artifact::ElementType element) {
  using artifact::ElementType;
  bool isHalf = element == ElementType::f16 || element == ElementType::bf16;
  double bound = isHalf ? 0.5 : 1e-5;
  for (size_t i = 0; i < found.size(); i += elementSize(element))
    ASSERT_NEAR(readFloat(found.data() + i, element),
                readFloat(expected.data() + i, element), bound)
        << "byte " << i;
}

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_NEARFLOATS_H

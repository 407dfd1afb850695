//===- Values.h - elements of tensors in memory -----------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_VALUES_H
#define LOCKSTEP_TEST_RUNTIME_VALUES_H

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace lockstep::runtime::test {

/// The elements at `bytes`, which need not be aligned.
template <typename T>
std::vector<T> valuesOf(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_VALUES_H

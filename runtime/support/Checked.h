//===- Checked.h - arithmetic that detects overflow -------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_CHECKED_H
#define LOCKSTEP_RUNTIME_SUPPORT_CHECKED_H

#include <cstdint>
#include <optional>

namespace lockstep::runtime {

/// Sums and products of numbers from a file; none on overflow.
inline std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b) {
  uint64_t result;
  if (__builtin_add_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

inline std::optional<uint64_t> checkedMultiply(uint64_t a, uint64_t b) {
  uint64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

/// Whether [offset, offset + size) lies in [0, limit).
inline bool rangeFits(uint64_t offset, uint64_t size, uint64_t limit) {
  return size <= limit && offset <= limit - size;
}

inline uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_CHECKED_H

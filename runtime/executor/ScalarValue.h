//===- ScalarValue.h - integers in memory -----------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_SCALARVALUE_H
#define LOCKSTEP_RUNTIME_EXECUTOR_SCALARVALUE_H

#include "runtime/schema/artifact_generated.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lockstep::runtime {

template <typename T> inline int64_t loadAs(const std::byte *address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return static_cast<int64_t>(value);
}

/// The integer of this type at an address of the host, widened; an i1 is 0
/// or 1.
inline int64_t loadInteger(artifact::ElementType element,
                           const std::byte *address) {
  using artifact::ElementType;
  switch (element) {
  case ElementType::i1:
    return loadAs<uint8_t>(address) != 0;
  case ElementType::i8:
    return loadAs<int8_t>(address);
  case ElementType::i16:
    return loadAs<int16_t>(address);
  case ElementType::i32:
    return loadAs<int32_t>(address);
  case ElementType::u8:
    return loadAs<uint8_t>(address);
  case ElementType::u16:
    return loadAs<uint16_t>(address);
  case ElementType::u32:
    return loadAs<uint32_t>(address);
  default:
    return loadAs<int64_t>(address);
  }
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_SCALARVALUE_H

//===- RowCopy.h - rows of bytes that are copied ----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_ROWCOPY_H
#define LOCKSTEP_RUNTIME_SUPPORT_ROWCOPY_H

#include <cstddef>
#include <cstdint>

namespace lockstep::runtime {

/// Rows of equal length, which lie `toStride` and `fromStride` bytes apart.
struct RowCopy {
  std::byte *to = nullptr;
  const std::byte *from = nullptr;
  uint64_t rows = 1, rowBytes = 0;
  uint64_t toStride = 0, fromStride = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_ROWCOPY_H

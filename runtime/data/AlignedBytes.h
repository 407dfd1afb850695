//===- AlignedBytes.h - owned memory for tensors ----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_ALIGNEDBYTES_H
#define LOCKSTEP_RUNTIME_DATA_ALIGNEDBYTES_H

#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

namespace lockstep::runtime {

/// Memory aligned to a cache line, uninitialized. Move-only. Sizes may come
/// from a file, so a failed allocation is an error and not an exception.
class AlignedBytes {
public:
  static constexpr size_t alignment = 64;

  AlignedBytes() = default;

  static Expected<AlignedBytes> allocate(size_t size) {
    AlignedBytes result;
    if (size == 0)
      return result;
    void *memory = nullptr;
    if (posix_memalign(&memory, alignment, size) != 0)
      return systemError("out of memory: cannot allocate " +
                         std::to_string(size) + " bytes");
    result.memory.reset(static_cast<std::byte *>(memory));
    result.size = size;
    return result;
  }

  std::span<std::byte> bytes() { return {memory.get(), size}; }
  std::span<const std::byte> bytes() const { return {memory.get(), size}; }

private:
  struct Free {
    void operator()(std::byte *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<std::byte, Free> memory;
  size_t size = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_ALIGNEDBYTES_H

//===- Memory.h - large zeroed allocations ----------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_MEMORY_H
#define LOCKSTEP_RUNTIME_SUPPORT_MEMORY_H

#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lockstep::runtime {

/// A zeroed block from the operating system, between two guard pages: native
/// code that accesses bytes outside of it faults instead of corrupting other
/// memory. It is aligned to a page. In builds with a sanitizer it is aligned to
/// 64 bytes and ends, up to this alignment, at the guard page, so that the
/// first bytes past the end fault. Movable, freed on destruction.
class Memory {
public:
  Memory() = default;
  /// Error, with the code of a system error: out of memory. 0 bytes: no block,
  /// `data` is null.
  static Expected<Memory> allocate(uint64_t bytes);
  Memory(Memory &&other) noexcept { *this = std::move(other); }
  Memory &operator=(Memory &&other) noexcept {
    std::swap(mapping, other.mapping);
    std::swap(block, other.block);
    return *this;
  }
  ~Memory();

  /// Later writes to it fault.
  void makeReadOnly() const;

  std::byte *data() const { return block.data(); }
  uint64_t size() const { return block.size(); }

private:
  /// The whole mapping, with the guard pages, and the block.
  std::span<std::byte> mapping, block;
};

/// Zeroed blocks of one size for several owners, such as the replicas of an
/// executor, 64-byte aligned. They come from one allocation, in which equal
/// offsets of different blocks do not compete for the same sets of a cache. In
/// builds with a sanitizer each is a separate allocation, so that accesses
/// outside of one fault.
class Arenas {
public:
  Arenas() = default;
  /// The errors of `Memory::allocate`.
  static Expected<Arenas> allocate(uint32_t count, uint64_t bytes);

  /// One of the blocks; its data is null if blocks have 0 bytes.
  std::span<std::byte> operator[](uint32_t index) const;

private:
  std::vector<Memory> memories;
  uint64_t blockSize = 0, stride = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_MEMORY_H

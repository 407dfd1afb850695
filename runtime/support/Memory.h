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

/// A zeroed block straight from the operating system, between two pages that
/// nobody can access: native code that leaves it faults instead of changing
/// what belongs to others. It is aligned to a page. In builds with a sanitizer
/// it is aligned to 64 bytes and ends, but for these, at the page behind it, so
/// that the first bytes past the end fault. Movable, freed on destruction.
class Memory {
public:
  Memory() = default;
  /// Error, with the code of a system error: the operating system does not have
  /// as much. 0 bytes: no block, `data` is null.
  static Expected<Memory> allocate(uint64_t bytes);
  Memory(Memory &&other) noexcept { *this = std::move(other); }
  Memory &operator=(Memory &&other) noexcept {
    std::swap(mapping, other.mapping);
    std::swap(block, other.block);
    return *this;
  }
  ~Memory();

  /// From now on, writing to it is a fault.
  void makeReadOnly() const;

  std::byte *data() const { return block.data(); }
  uint64_t size() const { return block.size(); }

private:
  /// All that is mapped, with the pages around the block.
  std::span<std::byte> mapping, block;
};

/// Zeroed blocks of one size for several owners, such as the replicas of an
/// executor, 64-byte aligned. They come from one allocation, in which equal
/// offsets of different blocks do not compete for the same sets of a cache. In
/// builds with a sanitizer each is an allocation of its own, so that who leaves
/// one faults.
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

//===- Memory.h - large zeroed allocations ----------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_MEMORY_H
#define LOCKSTEP_RUNTIME_SUPPORT_MEMORY_H

#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lockstep::runtime {

/// A page-aligned, zeroed block straight from the operating system. Movable, freed on destruction.
class Memory {
public:
  Memory() = default;
  static Expected<Memory> allocate(uint64_t bytes);
  Memory(Memory &&other) noexcept : address(std::exchange(other.address, nullptr)), bytes(std::exchange(other.bytes, 0)) {}
  Memory &operator=(Memory &&other) noexcept {
    std::swap(address, other.address);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~Memory();

  /// From now on, writing to it is a fault.
  void makeReadOnly() const;

  std::byte *data() const { return static_cast<std::byte *>(address); }
  uint64_t size() const { return bytes; }

private:
  void *address = nullptr;
  uint64_t bytes = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_MEMORY_H

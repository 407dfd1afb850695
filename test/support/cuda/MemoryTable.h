//===- MemoryTable.h - memory of the device ---------------------*- C++ -*-===//
//
// Memory of the host at addresses that the host cannot use. Addresses are never
// used again, so that an access to freed memory is always an error, and a page
// without access follows each allocation.
//
// All functions may be called by several threads at the same time.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_MEMORYTABLE_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_MEMORYTABLE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>

namespace lockstep::standin {

/// `context` is whose memory it is.
struct Allocation {
  uint64_t base = 0, bytes = 0;
  const void *context = nullptr;
  /// By cuMemMap.
  bool isMapped = false;
  /// How often NCCL has it registered.
  unsigned registrations = 0;
};

class MemoryTable {
public:
  static MemoryTable &get();

  /// The address, or nothing if the host has no memory.
  std::optional<uint64_t> allocate(const void *context, uint64_t bytes);
  /// The same in two calls: addresses, and memory there; false if the host has
  /// none.
  std::optional<uint64_t> reserve(uint64_t bytes);
  bool commit(const Allocation &allocation);
  /// Adds to the registrations of an allocation; false if it is not mapped.
  bool addRegistrations(uint64_t base, int count);
  /// The number of bytes freed; 0 if nothing was allocated there.
  uint64_t free(uint64_t base);
  void freeAll(const void *context);
  /// The allocation that has all bytes.
  std::optional<Allocation> find(uint64_t address, uint64_t bytes) const;
  /// What is near an address, in words.
  std::string describe(uint64_t address) const;

  /// The host's pointer for an address of the device.
  static std::byte *host(uint64_t address);

private:
  void release(uint64_t base, uint64_t bytes);

  mutable std::shared_mutex mutex;
  std::map<uint64_t, Allocation> allocations;
  /// What is left of the reserved addresses.
  std::byte *next = nullptr, *end = nullptr;
};

/// Memory of the host that copies access when they are executed.
class PinnedMemory {
public:
  static PinnedMemory &get();

  /// False if some of it is already pinned.
  bool add(const void *base, uint64_t bytes, bool isAllocated);
  /// The number of bytes; 0 if nothing was pinned there in that manner.
  uint64_t remove(const void *base, bool isAllocated);
  bool contains(const void *address, uint64_t bytes) const;

private:
  struct Range {
    uint64_t bytes;
    bool isAllocated;
  };
  mutable std::shared_mutex mutex;
  std::map<uint64_t, Range> ranges;
};

/// Fills memory with a pattern of 32 bits.
void fillPattern(std::byte *memory, uint64_t bytes, uint32_t pattern);

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_MEMORYTABLE_H

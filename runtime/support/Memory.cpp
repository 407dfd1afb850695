//===- Memory.cpp ---------------------------------------------------------===//

#include "runtime/support/Memory.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#include <fmt/format.h>

namespace lockstep::runtime {

Expected<Memory> Memory::allocate(uint64_t bytes) {
  Memory memory;
  if (bytes == 0)
    return memory;
  void *address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return systemError(fmt::format("cannot allocate {} bytes: {}", bytes, std::strerror(errno)));
  // Arenas of many megabytes are walked from end to end in every step: fewer, larger pages.
  constexpr uint64_t hugePageThreshold = uint64_t(4) << 20;
  if (bytes >= hugePageThreshold)
    ::madvise(address, bytes, MADV_HUGEPAGE);
  memory.address = address;
  memory.bytes = bytes;
  return memory;
}

void Memory::makeReadOnly() const {
  if (address)
    ::mprotect(address, bytes, PROT_READ);
}

Memory::~Memory() {
  if (address)
    ::munmap(address, bytes);
}

} // namespace lockstep::runtime

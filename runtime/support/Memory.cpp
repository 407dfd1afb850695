//===- Memory.cpp ---------------------------------------------------------===//

#include "runtime/support/Memory.h"

#include "runtime/support/Checked.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <sys/mman.h>

#include <fmt/format.h>

namespace lockstep::runtime {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOCKSTEP_SANITIZED true
#elif defined(__has_feature)
#define LOCKSTEP_SANITIZED                                                     \
  (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define LOCKSTEP_SANITIZED false
#endif

static constexpr uint64_t pageSize = 4096;

Expected<Memory> Memory::allocate(uint64_t bytes) {
  Memory memory;
  if (bytes == 0)
    return memory;
  auto error = [&] {
    return systemError(fmt::format("cannot allocate {} bytes: {}", bytes,
                                   std::strerror(errno)));
  };
  // Large arenas are traversed in every step: use huge pages, which must be
  // aligned to their size.
  constexpr uint64_t hugePageSize = uint64_t(2) << 20,
                     hugePageThreshold = uint64_t(4) << 20;
  bool isHuge = bytes >= hugePageThreshold;
  uint64_t alignment = isHuge ? hugePageSize : pageSize;
  uint64_t around = alignment + pageSize;
  if (bytes > ~uint64_t(0) - around - pageSize) {
    errno = ENOMEM;
    return error();
  }
  uint64_t pages = alignUp(bytes, pageSize);
  void *address = ::mmap(nullptr, around + pages, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return error();
  memory.mapping = {static_cast<std::byte *>(address), around + pages};
  uint64_t first = uint64_t(reinterpret_cast<uintptr_t>(address));
  std::byte *begin =
      memory.mapping.data() + (alignUp(first + pageSize, alignment) - first);
  if (::mprotect(begin, pages, PROT_READ | PROT_WRITE) != 0)
    return error();
  if (isHuge)
    ::madvise(begin, pages, MADV_HUGEPAGE);
  constexpr uint64_t leastAlignment = 64;
  memory.block = {LOCKSTEP_SANITIZED
                      ? begin + (pages - alignUp(bytes, leastAlignment))
                      : begin,
                  bytes};
  return memory;
}

void Memory::makeReadOnly() const {
  if (block.empty())
    return;
  auto address = reinterpret_cast<uintptr_t>(block.data());
  std::byte *begin = block.data() - address % pageSize;
  ::mprotect(begin, size_t(block.data() + block.size() - begin), PROT_READ);
}

Memory::~Memory() {
  if (!mapping.empty())
    ::munmap(mapping.data(), mapping.size());
}

/// Whether each block is a separate allocation with guard pages.
static constexpr bool isEachGuarded = LOCKSTEP_SANITIZED;

Expected<Arenas> Arenas::allocate(uint32_t count, uint64_t bytes) {
  // Equal offsets of different blocks differ by more than whole pages.
  constexpr uint64_t skew = 256;
  Arenas arenas;
  arenas.blockSize = bytes;
  std::optional<uint64_t> total = bytes;
  if (bytes > ~uint64_t(0) - pageSize - skew)
    total = std::nullopt;
  else if (!isEachGuarded)
    total =
        checkedMultiply(arenas.stride = alignUp(bytes, pageSize) + skew, count);
  if (!total)
    return systemError(fmt::format("cannot allocate {} times {} bytes: {}",
                                   count, bytes, std::strerror(ENOMEM)));
  for (uint32_t i = 0; i < (isEachGuarded ? count : 1); ++i) {
    Expected<Memory> memory = Memory::allocate(bytes == 0 ? 0 : *total);
    if (!memory)
      return memory.status();
    arenas.memories.push_back(std::move(*memory));
  }
  return arenas;
}

std::span<std::byte> Arenas::operator[](uint32_t index) const {
  if (blockSize == 0)
    return {};
  return {isEachGuarded ? memories[index].data()
                        : memories[0].data() + index * stride,
          blockSize};
}

} // namespace lockstep::runtime

//===- MemoryTable.cpp - memory of the device -----------------------------===//

#include "MemoryTable.h"

#include "KernelAbi.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <fmt/format.h>
#include <sys/mman.h>

namespace lockstep::standin {

static constexpr uint64_t pageBytes = 4096;

void fillPattern(std::byte *memory, uint64_t bytes, uint32_t pattern) {
  uint64_t at = 0;
  for (; at + sizeof(pattern) <= bytes; at += sizeof(pattern))
    std::memcpy(memory + at, &pattern, sizeof(pattern));
  std::memcpy(memory + at, &pattern, bytes - at);
}

MemoryTable &MemoryTable::get() {
  // Never destroyed: streams may outlive static objects.
  static auto *memory = new MemoryTable;
  return *memory;
}

std::byte *MemoryTable::host(uint64_t address) {
  return reinterpret_cast<std::byte *>(address - addressBias);
}

std::optional<uint64_t> MemoryTable::allocate(const void *context,
                                              uint64_t bytes) {
  std::optional<uint64_t> base = reserve(bytes);
  return base && commit({*base, bytes, context}) ? base : std::nullopt;
}

std::optional<uint64_t> MemoryTable::reserve(uint64_t bytes) {
  uint64_t mapped = (bytes + pageBytes - 1) & ~(pageBytes - 1);
  std::unique_lock lock(mutex);
  if (uint64_t(end - next) < mapped + pageBytes) {
    constexpr uint64_t reserved = uint64_t(64) << 30;
    uint64_t size = std::max(reserved, mapped + pageBytes);
    void *memory = mmap(nullptr, size, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return std::nullopt;
    next = static_cast<std::byte *>(memory);
    end = next + size;
  }
  uint64_t base = reinterpret_cast<uint64_t>(next) + addressBias;
  next += mapped + pageBytes;
  return base;
}

bool MemoryTable::commit(const Allocation &allocation) {
  std::byte *memory = host(allocation.base);
  uint64_t mapped = (allocation.bytes + pageBytes - 1) & ~(pageBytes - 1);
  if (mprotect(memory, mapped, PROT_READ | PROT_WRITE))
    return false;
  fillPattern(memory, allocation.bytes, freshGlobal);
  std::unique_lock lock(mutex);
  allocations.emplace(allocation.base, allocation);
  return true;
}

bool MemoryTable::addRegistrations(uint64_t base, int count) {
  std::unique_lock lock(mutex);
  auto found = allocations.find(base);
  if (found == allocations.end() || !found->second.isMapped)
    return false;
  found->second.registrations += unsigned(count);
  return true;
}

void MemoryTable::release(uint64_t base, uint64_t bytes) {
  uint64_t mapped = (bytes + pageBytes - 1) & ~(pageBytes - 1);
  // The addresses stay reserved, without memory.
  mmap(host(base), mapped, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

uint64_t MemoryTable::free(uint64_t base) {
  std::unique_lock lock(mutex);
  auto found = allocations.find(base);
  if (found == allocations.end())
    return 0;
  // The library would access it.
  if (found->second.registrations) {
    std::fputs("memory is freed that is registered with NCCL\n", stderr);
    std::abort();
  }
  uint64_t bytes = found->second.bytes;
  release(base, bytes);
  allocations.erase(found);
  return bytes;
}

void MemoryTable::freeAll(const void *context) {
  std::unique_lock lock(mutex);
  std::erase_if(allocations, [&](const auto &entry) {
    if (entry.second.context != context)
      return false;
    release(entry.first, entry.second.bytes);
    return true;
  });
}

std::optional<Allocation> MemoryTable::find(uint64_t address,
                                            uint64_t bytes) const {
  std::shared_lock lock(mutex);
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return std::nullopt;
  const Allocation &found = std::prev(after)->second;
  uint64_t offset = address - found.base;
  if (offset > found.bytes || found.bytes - offset < bytes)
    return std::nullopt;
  return found;
}

std::string MemoryTable::describe(uint64_t address) const {
  std::shared_lock lock(mutex);
  auto after = allocations.upper_bound(address);
  std::string text;
  if (after != allocations.begin()) {
    const Allocation &below = std::prev(after)->second;
    text = fmt::format("byte {} of the allocation of {} bytes at {:#x}",
                       address - below.base, below.bytes, below.base);
  }
  if (after != allocations.end())
    text += fmt::format("{}{} bytes before the allocation of {} bytes at {:#x}",
                        text.empty() ? "" : ", ", after->second.base - address,
                        after->second.bytes, after->second.base);
  return text.empty() ? "nothing is allocated" : text;
}

PinnedMemory &PinnedMemory::get() {
  static auto *memory = new PinnedMemory;
  return *memory;
}

bool PinnedMemory::add(const void *base, uint64_t bytes, bool isAllocated) {
  auto address = reinterpret_cast<uint64_t>(base);
  std::unique_lock lock(mutex);
  auto after = ranges.lower_bound(address + bytes);
  if (after != ranges.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second.bytes > address)
      return false;
  }
  ranges[address] = {bytes, isAllocated};
  return true;
}

uint64_t PinnedMemory::remove(const void *base, bool isAllocated) {
  std::unique_lock lock(mutex);
  auto found = ranges.find(reinterpret_cast<uint64_t>(base));
  if (found == ranges.end() || found->second.isAllocated != isAllocated)
    return 0;
  uint64_t bytes = found->second.bytes;
  ranges.erase(found);
  return bytes;
}

bool PinnedMemory::contains(const void *address, uint64_t bytes) const {
  auto first = reinterpret_cast<uint64_t>(address);
  std::shared_lock lock(mutex);
  auto after = ranges.upper_bound(first);
  if (after == ranges.begin())
    return false;
  auto found = std::prev(after);
  return first + bytes <= found->first + found->second.bytes;
}

} // namespace lockstep::standin

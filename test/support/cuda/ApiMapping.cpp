//===- ApiMapping.cpp - memory that is mapped to addresses ----------------===//

#include "Api.h"
#include "MemoryTable.h"

#include <map>
#include <mutex>
#include <utility>

using namespace lockstep::standin;

namespace {

/// What cuMemCreate has made, until it is released and unmapped.
struct PhysicalMemory {
  Context *context = nullptr;
  uint64_t bytes = 0;
  bool isReleased = false, isMapped = false;
};

/// What cuMemAddressReserve has reserved.
struct Reservation {
  uint64_t bytes = 0;
  /// Null while nothing is mapped.
  PhysicalMemory *memory = nullptr;
  bool isAccessible = false;
};

struct Mappings {
  std::mutex mutex;
  std::map<PhysicalMemory *, std::unique_ptr<PhysicalMemory>> memories;
  std::map<uint64_t, Reservation> reservations;

  static Mappings &get() {
    static auto &mappings = *new Mappings;
    return mappings;
  }
  /// Null unless the bytes are all that has been reserved.
  Reservation *find(uint64_t address, uint64_t bytes) {
    auto found = reservations.find(address);
    return found != reservations.end() && found->second.bytes == bytes
               ? &found->second
               : nullptr;
  }
  void freeIfUnused(PhysicalMemory *memory) {
    if (!memory->isReleased || memory->isMapped)
      return;
    memory->context->unreserve(memory->bytes);
    memories.erase(memory);
  }
};

/// Real GPUs have larger units, 2 MiB, which take longer to fill.
constexpr uint64_t unit = 1 << 16;

template <typename Function> CUresult withMappings(Function function) {
  std::lock_guard lock(Mappings::get().mutex);
  return function(Mappings::get());
}

} // namespace

CUresult cuMemGetAllocationGranularity(size_t *granularity,
                                       const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags) {
  return withContext([&](Context &) {
    if (!granularity || !properties)
      return CUDA_ERROR_INVALID_VALUE;
    *granularity = unit;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *properties,
                     unsigned long long flags) {
  return withContext([&](Context &context) {
    if (!handle || !properties || !bytes || bytes % unit || flags ||
        properties->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        properties->location.id != context.device() ||
        properties->requestedHandleTypes !=
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
      return CUDA_ERROR_INVALID_VALUE;
    if (context.device() >= DriverOptions::get().mappingDevices)
      return CUDA_ERROR_NOT_SUPPORTED;
    if (DriverOptions::get().alloc.happens() || !context.reserve(bytes))
      return CUDA_ERROR_OUT_OF_MEMORY;
    return withMappings([&](Mappings &mappings) {
      auto memory = std::make_unique<PhysicalMemory>();
      memory->context = &context;
      memory->bytes = bytes;
      *handle = reinterpret_cast<CUmemGenericAllocationHandle>(memory.get());
      mappings.memories[memory.get()] = std::move(memory);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return withContext([&](Context &) {
    return withMappings([&](Mappings &mappings) {
      auto found =
          mappings.memories.find(reinterpret_cast<PhysicalMemory *>(handle));
      if (found == mappings.memories.end() || found->second->isReleased)
        return CUDA_ERROR_INVALID_VALUE;
      found->second->isReleased = true;
      mappings.freeIfUnused(found->first);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t,
                             CUdeviceptr, unsigned long long flags) {
  return withContext([&](Context &) {
    if (!address || !bytes || bytes % unit || flags)
      return CUDA_ERROR_INVALID_VALUE;
    if (DriverOptions::get().map.happens())
      return CUDA_ERROR_OUT_OF_MEMORY;
    std::optional<uint64_t> base = MemoryTable::get().reserve(bytes);
    if (!base)
      return CUDA_ERROR_OUT_OF_MEMORY;
    *address = *base;
    return withMappings([&](Mappings &mappings) {
      mappings.reservations[*base] = {bytes};
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return withContext([&](Context &) {
    return withMappings([&](Mappings &mappings) {
      Reservation *found = mappings.find(address, bytes);
      if (!found || found->memory)
        return CUDA_ERROR_INVALID_VALUE;
      mappings.reservations.erase(address);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return withContext([&](Context &) {
    return withMappings([&](Mappings &mappings) {
      Reservation *reservation = mappings.find(address, bytes);
      auto memory =
          mappings.memories.find(reinterpret_cast<PhysicalMemory *>(handle));
      if (!reservation || reservation->memory || offset || flags ||
          memory == mappings.memories.end() || memory->second->isMapped ||
          memory->second->bytes != bytes)
        return CUDA_ERROR_INVALID_VALUE;
      if (DriverOptions::get().map.happens())
        return CUDA_ERROR_NOT_SUPPORTED;
      reservation->memory = memory->first;
      memory->second->isMapped = true;
      return CUDA_SUCCESS;
    });
  });
}

/// Until then, there is no memory at the addresses.
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes,
                        const CUmemAccessDesc *access, size_t count) {
  return withContext([&](Context &context) {
    return withMappings([&](Mappings &mappings) {
      Reservation *reservation = mappings.find(address, bytes);
      if (!reservation || !reservation->memory || !access || count != 1 ||
          access->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
          access->location.id != context.device() ||
          access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
          reservation->isAccessible)
        return CUDA_ERROR_INVALID_VALUE;
      if (DriverOptions::get().map.happens())
        return CUDA_ERROR_NOT_SUPPORTED;
      if (!MemoryTable::get().commit(
              {address, bytes, &context, /*isMapped=*/true}))
        return CUDA_ERROR_OUT_OF_MEMORY;
      reservation->isAccessible = true;
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return withContext([&](Context &context) {
    context.synchronize();
    CUresult result = withMappings([&](Mappings &mappings) {
      Reservation *reservation = mappings.find(address, bytes);
      if (!reservation || !reservation->memory)
        return CUDA_ERROR_INVALID_VALUE;
      if (reservation->isAccessible)
        MemoryTable::get().free(address);
      PhysicalMemory *memory = std::exchange(reservation->memory, nullptr);
      reservation->isAccessible = false;
      memory->isMapped = false;
      mappings.freeIfUnused(memory);
      return CUDA_SUCCESS;
    });
    return result ? result : context.error();
  });
}

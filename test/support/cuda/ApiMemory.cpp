//===- ApiMemory.cpp - memory of the device and of the host ---------------===//

#include "Api.h"
#include "MemoryTable.h"

#include <sys/mman.h>

using namespace lockstep::standin;

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  return withContext([&](Context &context) {
    if (!free || !total)
      return CUDA_ERROR_INVALID_VALUE;
    *total = DriverOptions::get().memory;
    *free = *total - context.usedBytes();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  return withContext([&](Context &context) {
    if (!pointer || !bytes)
      return CUDA_ERROR_INVALID_VALUE;
    if (DriverOptions::get().alloc.happens() || !context.reserve(bytes))
      return CUDA_ERROR_OUT_OF_MEMORY;
    std::optional<uint64_t> address =
        MemoryTable::get().allocate(&context, bytes);
    if (!address) {
      context.unreserve(bytes);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *pointer = *address;
    return CUDA_SUCCESS;
  });
}

/// Waits for the commands before, as the driver does.
CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return withContext([&](Context &context) {
    if (!pointer)
      return CUDA_SUCCESS;
    std::optional<Allocation> found = MemoryTable::get().find(pointer, 1);
    if (!found || found->base != pointer)
      return CUDA_ERROR_INVALID_VALUE;
    context.synchronize();
    context.unreserve(MemoryTable::get().free(pointer));
    return context.error();
  });
}

static constexpr size_t pageBytes = 4096;

static size_t mappedBytes(size_t bytes) {
  return (bytes + pageBytes - 1) & ~(pageBytes - 1);
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  return withContext([&](Context &) {
    if (!pointer || !bytes)
      return CUDA_ERROR_INVALID_VALUE;
    if (DriverOptions::get().alloc.happens())
      return CUDA_ERROR_OUT_OF_MEMORY;
    void *memory = mmap(nullptr, mappedBytes(bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return CUDA_ERROR_OUT_OF_MEMORY;
    fillPattern(static_cast<std::byte *>(memory), bytes, freshGlobal);
    PinnedMemory::get().add(memory, bytes, /*isAllocated=*/true);
    *pointer = memory;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemFreeHost(void *pointer) {
  return withContext([&](Context &context) {
    context.synchronize();
    uint64_t bytes = PinnedMemory::get().remove(pointer, /*isAllocated=*/true);
    if (!bytes)
      return CUDA_ERROR_INVALID_VALUE;
    munmap(pointer, mappedBytes(bytes));
    return context.error();
  });
}

CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned) {
  return withContext([&](Context &) {
    if (!pointer || !bytes)
      return CUDA_ERROR_INVALID_VALUE;
    return PinnedMemory::get().add(pointer, bytes, /*isAllocated=*/false)
               ? CUDA_SUCCESS
               : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  });
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
                               CUdeviceptr pointer) {
  if (!data || attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    return CUDA_ERROR_INVALID_VALUE;
  const auto *host = reinterpret_cast<const void *>(pointer);
  bool isOnDevice = pointer & addressBias;
  if (!isOnDevice && !PinnedMemory::get().contains(host, 1))
    return CUDA_ERROR_INVALID_VALUE;
  *static_cast<unsigned *>(data) =
      isOnDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *pointer) {
  return withContext([&](Context &context) {
    context.synchronize();
    if (!PinnedMemory::get().remove(pointer, /*isAllocated=*/false))
      return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return context.error();
  });
}

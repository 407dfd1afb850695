//===- ApiDevice.cpp - devices, contexts and names of errors --------------===//

#include "Api.h"
#include "MemoryTable.h"

#include <cstdio>

using namespace lockstep::standin;

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

CUresult cuInit(unsigned flags) {
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (DriverOptions::get().devices == 0)
    return CUDA_ERROR_NO_DEVICE;
  // Created by the first call, before threads need them: ThreadSanitizer does
  // not see the order that an object of this library has when it is created
  // at its first use.
  prepareExecution();
  MemoryTable::get();
  PinnedMemory::get();
  Scheduler::get();
  Driver::get().isInitialized = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = 12080;
  return CUDA_SUCCESS;
}

static bool isDevice(CUdevice device) {
  return device >= 0 && device < DriverOptions::get().devices;
}

CUresult cuDeviceGetCount(int *count) {
  return withDriver([&] {
    if (!count)
      return CUDA_ERROR_INVALID_VALUE;
    *count = DriverOptions::get().devices;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  return withDriver([&] {
    if (!device)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(ordinal))
      return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  return withDriver([&] {
    if (!name || length <= 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(name, size_t(length), "Lockstep CUDA stand-in");
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  return withDriver([&] {
    if (!bytes)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    *bytes = DriverOptions::get().memory;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice device) {
  return withDriver([&] {
    if (!value)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    static const std::map<int, int> values = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, int(warpSize)},
        {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 52428800},
        {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2},
        {CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 0},
        {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
        {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 0},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
        {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0},
        {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0},
        {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 0},
        {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1},
        {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0}};
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
      *value = int(DriverOptions::get().capability / 10);
    else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
      *value = int(DriverOptions::get().capability % 10);
    else if (attribute ==
             CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
      *value = device < DriverOptions::get().mappingDevices;
    else if (attribute == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)
      *value = device;
    else if (auto found = values.find(attribute); found != values.end())
      *value = found->second;
    else
      return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
  });
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  return withDriver([&] {
    if (!context)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    Context *found = Driver::get().contexts[size_t(device)].get();
    found->retain();
    *context = reinterpret_cast<CUcontext>(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return withDriver([&] {
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    return Driver::get().contexts[size_t(device)]->release()
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_CONTEXT;
  });
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return withDriver([&] {
    Context *context = nullptr;
    if (handle) {
      context = Driver::get().contextOf(handle);
      if (!context || !context->isActive())
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    currentContext() = context;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  return withDriver([&] {
    if (!context)
      return CUDA_ERROR_INVALID_VALUE;
    *context = reinterpret_cast<CUcontext>(currentContext());
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() {
  return withContext([&](Context &context) {
    context.synchronize();
    return context.error();
  });
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {

struct ErrorText {
  CUresult error;
  const char *name, *text;
};

} // namespace

static const ErrorText *textOf(CUresult error) {
#define ERROR(name, text)                                                      \
  {                                                                            \
    name, #name, text                                                          \
  }
  static constexpr ErrorText texts[] = {
      ERROR(CUDA_SUCCESS, "no error"),
      ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
      ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
      ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
      ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
      ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
      ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
      ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
      ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
      ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU,
            "no kernel image is available for execution on the device"),
      ERROR(CUDA_ERROR_ECC_UNCORRECTABLE,
            "uncorrectable ECC error encountered"),
      ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
      ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
            "the provided PTX was compiled with an unsupported toolchain."),
      ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
      ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
      ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
      ERROR(CUDA_ERROR_ILLEGAL_ADDRESS,
            "an illegal memory access was encountered"),
      ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
            "too many resources requested for launch"),
      ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
      ERROR(CUDA_ERROR_ASSERT, "device-side assert triggered"),
      ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            "part or all of the requested memory range is already mapped"),
      ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
            "pointer does not correspond to a registered memory region"),
      ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
      ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
      ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
      ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
      ERROR(CUDA_ERROR_UNKNOWN, "unknown error")};
#undef ERROR
  for (const ErrorText &text : texts)
    if (text.error == error)
      return &text;
  return nullptr;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  const ErrorText *text = textOf(error);
  if (name)
    *name = text ? text->name : nullptr;
  return name && text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **string) {
  const ErrorText *text = textOf(error);
  if (string)
    *string = text ? text->text : nullptr;
  return string && text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

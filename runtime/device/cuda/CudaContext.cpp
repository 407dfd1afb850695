//===- CudaContext.cpp - one GPU ------------------------------------------===//

#include "runtime/device/cuda/CudaContext.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>

#include <fmt/format.h>

namespace lockstep::runtime {

/// What the reductions of this library (Reduce.cu) are compiled for.
static constexpr ComputeCapability leastCapability{8, 0};

Expected<std::shared_ptr<CudaContext>> CudaContext::open(const DriverApi &api,
                                                         int ordinal) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<CudaContext>> contexts;
  std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<CudaContext> &known = contexts[ordinal];
  if (std::shared_ptr<CudaContext> context = known.lock())
    return context;
  std::shared_ptr<CudaContext> context(new CudaContext(api));
  LOCKSTEP_RETURN_IF_ERROR(context->initialize(ordinal));
  known = context;
  return context;
}

Expected<int> CudaContext::count(const DriverApi &api) {
  int count = 0;
  CUresult result = api.cuDeviceGetCount(&count);
  if (result != CUDA_SUCCESS || count == 0)
    return unsupported(fmt::format(
        "expected an NVIDIA GPU, found none{}",
        result == CUDA_SUCCESS ? "" : fmt::format(": {}", api.text(result))));
  return count;
}

Status CudaContext::initialize(int ordinal) {
  number = ordinal;
  CUresult result = CUDA_SUCCESS;
  auto attribute = [&](CUdevice_attribute attribute, int &value) {
    if (result == CUDA_SUCCESS)
      result = api.cuDeviceGetAttribute(&value, attribute, device);
  };
  std::array<char, 256> text{};
  int processors = 1, cache = 0;
  result = api.cuDeviceGet(&device, ordinal);
  if (result == CUDA_SUCCESS)
    result = api.cuDeviceGetName(text.data(), int(text.size() - 1), device);
  deviceName = text.data();
  attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ofDevice.major);
  attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ofDevice.minor);
  attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, processors);
  attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, cache);
  int maps = 0, exports = 0, rdma = 0;
  attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, maps);
  attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
            exports);
  attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, rdma);
  hasExportable = maps && exports;
  hasRdma = rdma;
  cacheBytes = uint64_t(std::max(cache, 0));
  multiprocessorCount = uint32_t(std::max(processors, 1));
  if (result == CUDA_SUCCESS && ofDevice < leastCapability)
    return unsupported(fmt::format(
        "expected a GPU of compute capability {} or higher, found {} of {}",
        leastCapability.text(), name(), ofDevice.text()));
  if (result == CUDA_SUCCESS)
    result = api.cuDevicePrimaryCtxRetain(&context, device);
  if (result == CUDA_SUCCESS) {
    enter();
    result = api.cuCtxGetStreamPriorityRange(&leastPriority, &greatestPriority);
  }
  if (result != CUDA_SUCCESS)
    return systemError(
        fmt::format("GPU {} cannot be used: {}", ordinal, api.text(result)));
  return Status::success();
}

CudaContext::~CudaContext() {
  if (!context)
    return;
  enter();
  for (CudaStream &stream : idleStreams)
    destroy(stream);
  for (CUevent event : idleEvents)
    api.cuEventDestroy(event);
  release(unused);
  api.cuDevicePrimaryCtxRelease(device);
}

void CudaContext::enter() const {
  // Others may have changed it in between, so that it is not remembered here.
  CUcontext current = nullptr;
  if (api.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current != context)
    api.cuCtxSetCurrent(context);
}

std::string CudaContext::name() const {
  return fmt::format("GPU {} '{}'", number, deviceName);
}

Status CudaContext::outOfMemory(uint64_t bytes, CUresult result) {
  size_t free = 0, total = 0;
  if (result != CUDA_ERROR_OUT_OF_MEMORY ||
      api.cuMemGetInfo(&free, &total) != CUDA_SUCCESS)
    return systemError(fmt::format("cannot allocate {} bytes on {}: {}", bytes,
                                   name(), api.text(result)));
  return systemError(fmt::format(
      "out of memory on {}: expected {} bytes, {} of {} bytes are free", name(),
      bytes, free, total));
}

/// Memory at addresses of its own, which libraries can export.
CUresult CudaContext::map(CUdeviceptr &memory, uint64_t bytes) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.allocFlags.gpuDirectRDMACapable = hasRdma;
  size_t unit = 1;
  CUresult result = api.cuMemGetAllocationGranularity(
      &unit, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
  if (result != CUDA_SUCCESS)
    return result;
  uint64_t size = (bytes + unit - 1) / unit * unit;
  CUmemGenericAllocationHandle handle = 0;
  result = api.cuMemCreate(&handle, size, &properties, /*flags=*/0);
  if (result != CUDA_SUCCESS)
    return result;
  CUdeviceptr address = 0;
  result = api.cuMemAddressReserve(&address, size, /*alignment=*/0, /*addr=*/0,
                                   /*flags=*/0);
  bool isMapped = false;
  if (result == CUDA_SUCCESS) {
    result = api.cuMemMap(address, size, /*offset=*/0, handle, /*flags=*/0);
    isMapped = result == CUDA_SUCCESS;
  }
  // The mapping keeps the memory.
  api.cuMemRelease(handle);
  if (result == CUDA_SUCCESS) {
    CUmemAccessDesc access{};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    result = api.cuMemSetAccess(address, size, &access, /*count=*/1);
  }
  if (result == CUDA_SUCCESS) {
    std::lock_guard<std::mutex> lock(mutex);
    mappings[address] = size;
    memory = address;
    return result;
  }
  if (isMapped)
    api.cuMemUnmap(address, size);
  if (address)
    api.cuMemAddressFree(address, size);
  return result;
}

void CudaContext::unmapOrFree(CUdeviceptr memory) {
  uint64_t size = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto mapped = mappings.find(memory); mapped != mappings.end()) {
      size = mapped->second;
      mappings.erase(mapped);
    }
  }
  if (!size) {
    api.cuMemFree(memory);
    return;
  }
  api.cuMemUnmap(memory, size);
  api.cuMemAddressFree(memory, size);
}

std::span<std::byte> CudaContext::exportable(CUdeviceptr address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto after = mappings.upper_bound(address);
  if (after == mappings.begin())
    return {};
  auto [begin, size] = *std::prev(after);
  if (address - begin >= size)
    return {};
  return {reinterpret_cast<std::byte *>(begin), size};
}

Expected<CUdeviceptr> CudaContext::allocate(uint64_t bytes, MemoryKind kind) {
  enter();
  releaseIfIdle();
  CUdeviceptr memory = 0;
  auto attempt = [&] {
    return kind == MemoryKind::Exportable ? map(memory, bytes)
                                          : api.cuMemAlloc(&memory, bytes);
  };
  CUresult result = attempt();
  if (result == CUDA_ERROR_OUT_OF_MEMORY && releaseAll(/*isIdle=*/false))
    result = attempt();
  if (result != CUDA_SUCCESS)
    return outOfMemory(bytes, result);
  return memory;
}

Expected<CUdeviceptr> CudaContext::allocateZeroed(uint64_t bytes,
                                                  MemoryKind kind) {
  Expected<CUdeviceptr> memory = allocate(bytes, kind);
  if (!memory)
    return memory;
  // On a stream of its own, so that it waits for no queue.
  Expected<CudaStream> stream = takeStream();
  if (!stream) {
    free(*memory);
    return stream.status();
  }
  CUresult result = api.cuMemsetD8Async(*memory, 0, bytes, stream->stream);
  if (result == CUDA_SUCCESS)
    result = api.cuStreamSynchronize(stream->stream);
  giveBack(*stream, result == CUDA_SUCCESS);
  if (result == CUDA_SUCCESS)
    return memory;
  free(*memory);
  return systemError(fmt::format("cannot clear {} bytes on {}: {}", bytes,
                                 name(), api.text(result)));
}

void CudaContext::free(CUdeviceptr memory) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    unused.memory.push_back(memory);
  }
  enter();
  releaseIfIdle();
}

Expected<std::byte *> CudaContext::allocateHost(uint64_t bytes) {
  enter();
  void *memory = nullptr;
  CUresult result = api.cuMemHostAlloc(&memory, std::max<uint64_t>(bytes, 1),
                                       CU_MEMHOSTALLOC_DEVICEMAP);
  if (result != CUDA_SUCCESS)
    return systemError(fmt::format("cannot allocate {} bytes of the host for "
                                   "{}: {}",
                                   bytes, name(), api.text(result)));
  std::memset(memory, 0, bytes);
  return static_cast<std::byte *>(memory);
}

void CudaContext::freeHost(std::byte *memory) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    unused.hostMemory.push_back(memory);
  }
  enter();
  releaseIfIdle();
}

void CudaContext::release(const Unused &given) {
  for (CUdeviceptr memory : given.memory)
    unmapOrFree(memory);
  for (CUmodule module : given.modules)
    api.cuModuleUnload(module);
  for (void *memory : given.hostMemory)
    api.cuMemFreeHost(memory);
}

void CudaContext::releaseIfIdle() {
  auto isBusy = [&](CUstream stream) {
    return api.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY;
  };
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (unused.isEmpty() || releasesHeld > 0 ||
        std::ranges::any_of(takenStreams, isBusy))
      return;
  }
  releaseAll(/*isIdle=*/true);
}

bool CudaContext::releaseAll(bool isIdle) {
  Unused released;
  bool needsIdle = false;
  {
    std::lock_guard<std::mutex> lock(mutex);
    std::swap(released, unused);
    // Unlike cuMemFree, cuMemUnmap need not wait for commands that use the
    // memory. While commands are recorded, nothing must wait for streams.
    auto mapped =
        std::ranges::partition(released.memory, [&](CUdeviceptr memory) {
          return !mappings.contains(memory);
        });
    needsIdle = !isIdle && !mapped.empty();
    if (needsIdle && releasesHeld > 0) {
      unused.memory.assign(mapped.begin(), mapped.end());
      released.memory.erase(mapped.begin(), mapped.end());
      needsIdle = false;
    }
  }
  if (needsIdle)
    api.cuCtxSynchronize();
  release(released);
  return !released.isEmpty();
}

void CudaContext::holdRelease() {
  std::lock_guard<std::mutex> lock(mutex);
  ++releasesHeld;
}

void CudaContext::allowRelease() {
  std::lock_guard<std::mutex> lock(mutex);
  --releasesHeld;
}

/// Of an image that cannot be loaded: whether that is the fault of its bytes,
/// of the driver's version, or of neither.
static StatusCode codeOfLoad(CUresult result) {
  switch (result) {
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_INVALID_SOURCE:
    return StatusCode::corrupted;
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return StatusCode::unsupported;
  default:
    return StatusCode::system;
  }
}

Expected<CUmodule> CudaContext::load(std::span<const std::byte> image,
                                     std::string_view what) {
  // PTX must end with a zero, and either may be at an odd address.
  std::vector<char> copy(image.size() + 1);
  if (!image.empty())
    std::memcpy(copy.data(), image.data(), image.size());
  std::array<char, 8192> log{};
  std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER,
                                      CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // The driver reads a 32-bit number from the place of a pointer.
  std::array<void *, 2> values{log.data(),
                               reinterpret_cast<void *>(log.size() - 1)};
  enter();
  CUmodule module = nullptr;
  CUresult result = api.cuModuleLoadDataEx(&module, copy.data(), options.size(),
                                           options.data(), values.data());
  if (result == CUDA_SUCCESS)
    return module;
  std::string text(log.data());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  return Status(codeOfLoad(result),
                fmt::format("{} cannot be loaded on {}: {}{}{}", what, name(),
                            api.text(result), text.empty() ? "" : "\n", text));
}

void CudaContext::unload(CUmodule module) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    unused.modules.push_back(module);
  }
  enter();
  releaseIfIdle();
}

Expected<CudaStream> CudaContext::takeStream(QueueUse use) {
  CudaStream taken;
  taken.use = use;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto idle = std::ranges::find(idleStreams, use, &CudaStream::use);
        idle != idleStreams.end()) {
      taken = *idle;
      idleStreams.erase(idle);
      takenStreams.push_back(taken.stream);
    }
  }
  if (taken.stream) {
    for (size_t i = 0; i < CudaStream::words; ++i)
      std::atomic_ref<uint32_t>(taken.progress[i]).store(0);
    return taken;
  }
  enter();
  // It does not wait for the default stream, which other libraries may use.
  int priority = use == QueueUse::Exchange ? greatestPriority : leastPriority;
  CUresult result = api.cuStreamCreateWithPriority(
      &taken.stream, CU_STREAM_NON_BLOCKING, priority);
  void *progress = nullptr;
  if (result == CUDA_SUCCESS)
    result = api.cuMemHostAlloc(&progress,
                                CudaStream::words * sizeof(*taken.progress),
                                CU_MEMHOSTALLOC_DEVICEMAP);
  taken.progress = static_cast<uint32_t *>(progress);
  if (result == CUDA_SUCCESS) {
    std::fill_n(taken.progress, CudaStream::words, 0);
    std::lock_guard<std::mutex> lock(mutex);
    takenStreams.push_back(taken.stream);
    return taken;
  }
  destroy(taken);
  return systemError(fmt::format("cannot create a stream on {}: {}", name(),
                                 api.text(result)));
}

void CudaContext::giveBack(CudaStream stream, bool isReusable) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    std::erase(takenStreams, stream.stream);
    if (isReusable)
      idleStreams.push_back(stream);
  }
  if (!isReusable)
    destroy(stream);
}

CUresult CudaContext::takeEvent(CUevent &event) {
  {
    std::lock_guard<std::mutex> lock(eventMutex);
    if (!idleEvents.empty()) {
      event = idleEvents.back();
      idleEvents.pop_back();
      return CUDA_SUCCESS;
    }
  }
  enter();
  CUresult result = api.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (result != CUDA_SUCCESS)
    event = nullptr;
  return result;
}

void CudaContext::giveBack(CUevent event) {
  std::lock_guard<std::mutex> lock(eventMutex);
  idleEvents.push_back(event);
}

void CudaContext::destroy(CudaStream stream) {
  enter();
  if (stream.stream)
    api.cuStreamDestroy(stream.stream);
  if (!stream.progress)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  unused.hostMemory.push_back(stream.progress);
}

} // namespace lockstep::runtime

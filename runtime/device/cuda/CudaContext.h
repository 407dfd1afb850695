//===- CudaContext.h - one GPU ----------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaTarget.h"
#include "runtime/device/cuda/DriverApi.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

/// What a queue needs: a stream, and words of host memory in which the stream
/// notes how far it is.
struct CudaStream {
  static constexpr size_t words = 2;
  CUstream stream = nullptr;
  uint32_t *progress = nullptr;
  QueueUse use = QueueUse::Kernels;
};

/// A GPU by its ordinal, with its primary context, which other libraries of the
/// process share. Thread-safe. Modules, memory, queues and events keep it.
class CudaContext {
public:
  /// The number of GPUs, at least 1. Error: there is none.
  static Expected<int> count(const DriverApi &api);
  /// That of `ordinal`, which is below `count`: all devices of a GPU share it.
  /// Errors: a GPU that is too old, or the driver has no context for it.
  static Expected<std::shared_ptr<CudaContext>> open(const DriverApi &api,
                                                     int ordinal);
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  /// Makes the context current for the calling thread; the other functions do
  /// so themselves.
  void enter() const;

  /// "GPU 0 'NVIDIA H100'"
  std::string name() const;
  DeviceInfo info(uint32_t devices) const {
    return {deviceName, cacheBytes, devices};
  }
  ComputeCapability capability() const { return ofDevice; }
  uint32_t multiprocessors() const { return multiprocessorCount; }

  /// How memory is allocated: by the driver's default, or in units of usually
  /// 2 MiB, which other GPUs and processes can map.
  enum class MemoryKind { Usual, Exportable };
  /// Whether the GPU has memory that is exportable.
  bool canExport() const { return hasExportable; }
  /// Memory of the GPU. Waits for the GPU only if there is no memory before
  /// what was freed is released. Error: out of memory, with the bytes that are
  /// free.
  Expected<CUdeviceptr> allocate(uint64_t bytes,
                                 MemoryKind kind = MemoryKind::Usual);
  /// The same, with all bytes 0.
  Expected<CUdeviceptr> allocateZeroed(uint64_t bytes, MemoryKind kind);
  /// The exportable allocation with this address; else empty.
  std::span<std::byte> exportable(CUdeviceptr address);
  /// Does not wait for the GPU, as the driver does to release memory: it is
  /// released once no stream executes a command. Otherwise a kernel that hangs
  /// would keep threads that have nothing to do with it.
  void free(CUdeviceptr memory);

  /// Page-locked memory of the host, zeroed. Error: out of memory.
  Expected<std::byte *> allocateHost(uint64_t bytes);
  /// Does not wait, like `free`.
  void freeHost(std::byte *memory);

  /// Loads PTX or a cubin for this GPU. Error: the driver's messages, after
  /// `what`.
  Expected<CUmodule> load(std::span<const std::byte> image,
                          std::string_view what);
  /// Does not wait, like `free`.
  void unload(CUmodule module);

  /// Between these calls, memory is released only if there is none left: the
  /// driver must not be asked whether streams are busy while it records what is
  /// enqueued on them.
  void holdRelease();
  void allowRelease();

  /// A stream on which nothing is enqueued, and whose progress is 0. The GPU
  /// begins the blocks of streams for exchanges first. Error: the driver has no
  /// more.
  Expected<CudaStream> takeStream(QueueUse use = QueueUse::Kernels);
  /// Keeps the stream for other queues if it has executed all commands without
  /// an error.
  void giveBack(CudaStream stream, bool isReusable);

  const DriverApi &api;

  /// An event, which may have been recorded by an earlier owner.
  CUresult takeEvent(CUevent &event);
  /// Keeps the event for others, without a call of the driver. Commands may
  /// still refer to it.
  void giveBack(CUevent event);

private:
  explicit CudaContext(const DriverApi &api) : api(api) {}
  Status initialize(int ordinal);
  Status outOfMemory(uint64_t bytes, CUresult result);
  CUresult map(CUdeviceptr &memory, uint64_t bytes);
  void unmapOrFree(CUdeviceptr memory);
  void destroy(CudaStream stream);

  /// What is no longer used; the driver waits for the GPU to release it.
  struct Unused {
    std::vector<CUdeviceptr> memory;
    std::vector<CUmodule> modules;
    std::vector<void *> hostMemory;
    bool isEmpty() const {
      return memory.empty() && modules.empty() && hostMemory.empty();
    }
  };
  void release(const Unused &given);
  /// Releases what is unused if no stream executes a command.
  void releaseIfIdle();
  /// Waits for the GPU, which may be idle. False: there is nothing to release.
  bool releaseAll(bool isIdle);

  int number = 0;
  CUdevice device = 0;
  CUcontext context = nullptr;
  std::string deviceName;
  ComputeCapability ofDevice;
  uint32_t multiprocessorCount = 1;
  /// Of streams, for their use.
  int leastPriority = 0, greatestPriority = 0;
  uint64_t cacheBytes = 0;
  bool hasExportable = false, hasRdma = false;
  std::mutex mutex;
  /// The bytes of exportable memory, by its address.
  std::map<CUdeviceptr, uint64_t> mappings;
  Unused unused;
  unsigned releasesHeld = 0;
  std::vector<CUstream> takenStreams;
  std::vector<CudaStream> idleStreams;
  /// Callbacks give events back: nobody calls the driver while holding it.
  std::mutex eventMutex;
  std::vector<CUevent> idleEvents;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H

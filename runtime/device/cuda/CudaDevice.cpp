//===- CudaDevice.cpp - NVIDIA GPUs as a plugin ---------------------------===//
//
// Everything is done through the driver's library, without CUDA's runtime.
// Options: ordinals of GPUs among those that the driver shows, separated by
// commas; by default, all of them. Executors of a process take one after the
// other, and begin again with the first if there are more executors than GPUs.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaEvent.h"
#include "runtime/device/cuda/CudaModule.h"
#include "runtime/device/cuda/CudaQueue.h"
#include "runtime/device/cuda/CudaReductions.h"
#include "runtime/device/cuda/CudaWatch.h"
#include "runtime/support/Checked.h"
#include "runtime/support/Plugin.h"

#include <atomic>
#include <charconv>
#include <limits>
#include <set>

#include <fmt/format.h>

namespace lockstep::runtime {
namespace {

/// One allocation; blocks start at multiples of `alignment`.
class CudaMemory final : public DeviceMemory {
public:
  static constexpr uint64_t alignment = 256;

  CudaMemory(std::shared_ptr<CudaContext> context, CUdeviceptr first,
             uint64_t stride)
      : context(std::move(context)), first(first), stride(stride) {}
  ~CudaMemory() override {
    if (first)
      context->free(first);
  }
  std::byte *block(uint32_t index) const override {
    return first ? reinterpret_cast<std::byte *>(first + index * stride)
                 : nullptr;
  }

private:
  std::shared_ptr<CudaContext> context;
  CUdeviceptr first;
  uint64_t stride;
};

class CudaHostMemory final : public HostMemory {
public:
  CudaHostMemory(std::shared_ptr<CudaContext> context, std::byte *memory)
      : context(std::move(context)), memory(memory) {}
  ~CudaHostMemory() override { context->freeHost(memory); }
  std::byte *data() const override { return memory; }

private:
  std::shared_ptr<CudaContext> context;
  std::byte *memory;
};

/// The numbers of a list such as "0,2"; none of an empty text.
Expected<std::vector<int>> readOrdinals(std::string_view text) {
  std::vector<int> ordinals;
  const char *next = text.data(), *end = next + text.size();
  while (!text.empty()) {
    int ordinal = 0;
    auto [rest, error] = std::from_chars(next, end, ordinal);
    if (error != std::errc() || ordinal < 0 || (rest != end && *rest != ','))
      return invalidArgument(
          fmt::format("expected ordinals of GPUs, separated by commas, found "
                      "'{}'",
                      text));
    ordinals.push_back(ordinal);
    if (rest == end)
      break;
    next = rest + 1;
  }
  return ordinals;
}

class CudaDevice final : public Device {
public:
  /// The GPU that the options choose for an executor.
  static Expected<std::unique_ptr<Device>> open(std::string_view options,
                                                uint32_t executor) {
    std::vector<int> ordinals;
    LOCKSTEP_RETURN_IF_ERROR(readOrdinals(options).moveTo(ordinals));
    Expected<const DriverApi *> api = DriverApi::load();
    if (!api)
      return api.status();
    int count = 0;
    LOCKSTEP_RETURN_IF_ERROR(CudaContext::count(**api).moveTo(count));
    int ordinal = ordinals.empty() ? int(executor % uint32_t(count))
                                   : ordinals[executor % ordinals.size()];
    if (ordinal >= count)
      return invalidArgument(fmt::format(
          "expected the ordinal of a GPU below {}, found {}", count, ordinal));
    std::unique_ptr<CudaDevice> device(new CudaDevice());
    device->devices =
        ordinals.empty()
            ? uint32_t(count)
            : uint32_t(std::set(ordinals.begin(), ordinals.end()).size());
    LOCKSTEP_RETURN_IF_ERROR(
        CudaContext::open(**api, ordinal).moveTo(device->context));
    LOCKSTEP_RETURN_IF_ERROR(CudaWatch::start().moveTo(device->watch));
    device->reductions = std::make_shared<CudaReductions>(device->context);
    return std::unique_ptr<Device>(std::move(device));
  }

  std::string_view kind() const override { return "cuda"; }
  DeviceInfo info() const override { return context->info(devices); }
  bool isHost() const override { return false; }
  bool canRecord() const override { return true; }
  std::string compilerTarget() const override {
    return compilerTargetFor(context->capability());
  }

  Expected<std::unique_ptr<Module>>
  loadModule(const Artifact &artifact, std::string_view target) override {
    return CudaModule::load(context, artifact, target);
  }

  Expected<std::unique_ptr<DeviceMemory>> allocate(uint32_t count,
                                                   uint64_t bytes) override {
    std::optional<uint64_t> padded =
        checkedAdd(bytes, CudaMemory::alignment - 1);
    uint64_t stride = padded.value_or(0) & ~(CudaMemory::alignment - 1);
    std::optional<uint64_t> total = checkedMultiply(stride, uint64_t(count));
    if (!padded || !total)
      return systemError(fmt::format("out of memory on {}: expected {} blocks "
                                     "of {} bytes",
                                     context->name(), count, bytes));
    CUdeviceptr first = 0;
    if (*total > 0)
      LOCKSTEP_RETURN_IF_ERROR(
          context->allocateZeroed(*total, memoryKind).moveTo(first));
    return std::unique_ptr<DeviceMemory>(
        std::make_unique<CudaMemory>(context, first, stride));
  }

  void allocateForExchange() override {
    if (context->canExport())
      memoryKind = CudaContext::MemoryKind::Exportable;
  }
  std::span<std::byte> exchangeable(const std::byte *address) const override {
    return context->exportable(reinterpret_cast<CUdeviceptr>(address));
  }

  Expected<std::unique_ptr<HostMemory>> allocateHost(uint64_t bytes) override {
    Expected<std::byte *> memory = context->allocateHost(bytes);
    if (!memory)
      return memory.status();
    return std::unique_ptr<HostMemory>(
        std::make_unique<CudaHostMemory>(context, *memory));
  }

  Expected<std::unique_ptr<Queue>> createQueue(QueueUse use) override {
    return CudaQueue::create(context, reductions, watch, use);
  }

  std::unique_ptr<Event>
  createEvent(std::function<void()> onComplete) override {
    return std::make_unique<CudaEvent>(context, std::move(onComplete));
  }

  Expected<std::unique_ptr<Timestamp>> createTimestamp() override {
    return CudaTimestamp::create(context);
  }

private:
  CudaDevice() = default;

  uint32_t devices = 1;
  std::atomic<CudaContext::MemoryKind> memoryKind =
      CudaContext::MemoryKind::Usual;
  std::shared_ptr<CudaContext> context;
  std::shared_ptr<CudaReductions> reductions;
  std::shared_ptr<CudaWatch> watch;
};

} // namespace
} // namespace lockstep::runtime

LOCKSTEP_PLUGIN

extern "C" __attribute__((visibility("default"))) void
lockstepOpenDevice(std::string_view options, uint32_t executor,
                   std::unique_ptr<lockstep::runtime::Device> &device,
                   lockstep::runtime::Status &status) {
  using namespace lockstep::runtime;
  status = CudaDevice::open(options, executor).moveTo(device);
}

//===- CudaDevice.cpp - NVIDIA GPUs as a plugin ---------------------------===//
//
// Everything is done through the driver's library, without CUDA's runtime.
// Options: the ordinal of the GPU among those that the driver shows, by default
// 0.
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

#include <charconv>
#include <limits>

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

class CudaDevice final : public Device {
public:
  static Expected<std::unique_ptr<Device>> open(int ordinal) {
    Expected<const DriverApi *> api = DriverApi::load();
    if (!api)
      return api.status();
    std::unique_ptr<CudaDevice> device(new CudaDevice());
    LOCKSTEP_RETURN_IF_ERROR(
        CudaContext::open(**api, ordinal).moveTo(device->context));
    LOCKSTEP_RETURN_IF_ERROR(CudaWatch::start().moveTo(device->watch));
    device->reductions = std::make_shared<CudaReductions>(device->context);
    return std::unique_ptr<Device>(std::move(device));
  }

  std::string_view kind() const override { return "cuda"; }
  bool isHost() const override { return false; }

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
      LOCKSTEP_RETURN_IF_ERROR(context->allocateZeroed(*total).moveTo(first));
    return std::unique_ptr<DeviceMemory>(
        std::make_unique<CudaMemory>(context, first, stride));
  }

  Expected<std::unique_ptr<Queue>> createQueue() override {
    return CudaQueue::create(context, reductions, watch);
  }

  std::unique_ptr<Event>
  createEvent(std::function<void()> onComplete) override {
    return std::make_unique<CudaEvent>(context, std::move(onComplete));
  }

private:
  CudaDevice() = default;

  std::shared_ptr<CudaContext> context;
  std::shared_ptr<CudaReductions> reductions;
  std::shared_ptr<CudaWatch> watch;
};

} // namespace
} // namespace lockstep::runtime

LOCKSTEP_PLUGIN

extern "C" __attribute__((visibility("default"))) void
lockstepOpenDevice(std::string_view options,
                   std::unique_ptr<lockstep::runtime::Device> &device,
                   lockstep::runtime::Status &status) {
  using namespace lockstep::runtime;
  int ordinal = 0;
  const char *end = options.data() + options.size();
  auto [rest, error] = std::from_chars(options.data(), end, ordinal);
  if (!options.empty() &&
      (error != std::errc() || rest != end || ordinal < 0)) {
    status = invalidArgument(
        fmt::format("expected the ordinal of a GPU, found '{}'", options));
    return;
  }
  status = CudaDevice::open(ordinal).moveTo(device);
}

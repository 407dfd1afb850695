//===- CpuDevice.cpp ------------------------------------------------------===//

#include "runtime/device/cpu/CpuDevice.h"

#include "runtime/device/cpu/CpuBinary.h"
#include "runtime/support/Memory.h"

namespace lockstep::runtime {
namespace {

class CpuMemory final : public DeviceMemory {
public:
  explicit CpuMemory(Arenas given) : arenas(std::move(given)) {}
  std::byte *block(uint32_t index) const override {
    return arenas[index].data();
  }

private:
  Arenas arenas;
};

class CpuDevice final : public Device {
public:
  std::string_view kind() const override { return "cpu"; }
  bool isHost() const override { return true; }

  Expected<std::unique_ptr<Module>>
  loadModule(const Artifact &artifact, std::string_view target) override {
    Expected<CpuBinary> binary = CpuBinary::load(artifact, target);
    if (!binary)
      return binary.status();
    return std::unique_ptr<Module>(
        std::make_unique<CpuBinary>(std::move(*binary)));
  }

  Expected<std::unique_ptr<DeviceMemory>> allocate(uint32_t count,
                                                   uint64_t bytes) override {
    Expected<Arenas> arenas = Arenas::allocate(count, bytes);
    if (!arenas)
      return arenas.status();
    return std::unique_ptr<DeviceMemory>(
        std::make_unique<CpuMemory>(std::move(*arenas)));
  }

  Expected<std::unique_ptr<Queue>> createQueue(QueueUse) override {
    return unsupported("device 'cpu' has no queues");
  }
  std::unique_ptr<Event> createEvent(std::function<void()>) override {
    return nullptr;
  }
};

} // namespace

std::unique_ptr<Device> makeCpuDevice() {
  return std::make_unique<CpuDevice>();
}

} // namespace lockstep::runtime

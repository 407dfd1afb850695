//===- OpenDevice.cpp - opens devices by name -----------------------------===//

#include "runtime/device/Device.h"

#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/support/Memory.h"
#include "runtime/support/Plugin.h"

namespace lockstep::runtime {

namespace {

class PlainMemory final : public HostMemory {
public:
  explicit PlainMemory(Memory memory) : memory(std::move(memory)) {}
  std::byte *data() const override { return memory.data(); }

private:
  Memory memory;
};

} // namespace

Expected<std::unique_ptr<HostMemory>> Device::allocateHost(uint64_t bytes) {
  Expected<Memory> memory = Memory::allocate(bytes);
  if (!memory)
    return memory.status();
  return std::unique_ptr<HostMemory>(
      std::make_unique<PlainMemory>(std::move(*memory)));
}

Expected<std::shared_ptr<Device>> openDevice(std::string_view name,
                                             uint32_t executor) {
  static PluginObjects<Device> devices(
      {"device", "cpu", "LOCKSTEP_DEVICE", "lockstepOpenDevice"},
      makeCpuDevice);
  return devices.open(name, executor);
}

} // namespace lockstep::runtime

//===- OpenDevice.cpp - opens devices by name -----------------------------===//

#include "runtime/device/Device.h"

#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/support/Plugin.h"

namespace lockstep::runtime {

Expected<std::shared_ptr<Device>> openDevice(std::string_view name,
                                             uint32_t executor) {
  static OpenParts<Device> devices(
      {"device", "cpu", "LOCKSTEP_DEVICE", "lockstepOpenDevice"},
      makeCpuDevice);
  return devices.open(name, executor);
}

} // namespace lockstep::runtime

//===- HostCopy.h - memory of a device, as the host sees it -----*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_HOSTCOPY_H
#define LOCKSTEP_RUNTIME_DEVICE_HOSTCOPY_H

#include "runtime/device/Device.h"
#include "runtime/support/Memory.h"

#include <mutex>

namespace lockstep::runtime {

/// Blocks in the memory of a device, with the host's copy of them. Bytes are
/// brought to the other side when somebody asks for them and they are newer
/// here. On a host device there is one memory, and nothing to bring.
class HostCopy {
public:
  HostCopy() = default;
  /// Zeroed. Error: the host or the device does not have as much.
  static Expected<std::unique_ptr<HostCopy>>
  create(std::shared_ptr<Device> device, uint32_t count, uint64_t bytes);

  /// The host's bytes of a block, as the last `fetch` or `edit` has left them.
  std::span<std::byte> host(uint32_t index = 0) const { return blocks[index]; }
  /// The device's address of a block.
  std::byte *device(uint32_t index = 0) const {
    return memory ? memory->block(index) : blocks[index].data();
  }

  /// Brings what programs have written to the host. Error: the device has
  /// failed.
  Status fetch();
  /// The same, and the host is going to write.
  Status edit();
  /// Before a program reads it: brings what the host has written to the device.
  Status flush();
  /// Programs have written to the device's memory.
  void noteProgramWrites();
  /// Programs write to it at any time. The caller of `fetch` or `flush` sees to
  /// it that none does meanwhile.
  void share() { isShared = true; }

private:
  Status move(bool toHost);

  std::shared_ptr<Device> owner;
  uint32_t count = 0;
  Arenas blocks;
  /// Null on a host device.
  std::unique_ptr<DeviceMemory> memory;
  std::mutex mutex;
  bool isShared = false, hostIsNewer = false, deviceIsNewer = false;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_HOSTCOPY_H

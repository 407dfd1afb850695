//===- HostCopy.h - device memory with a host copy --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_HOSTCOPY_H
#define LOCKSTEP_RUNTIME_DEVICE_HOSTCOPY_H

#include "runtime/device/Device.h"
#include "runtime/support/Memory.h"

#include <mutex>

namespace lockstep::runtime {

/// Blocks in the memory of a device, with a copy on the host. The stale side is
/// updated on demand. On a host device both are the same memory, without
/// transfers.
class HostCopy {
public:
  HostCopy() = default;
  /// Zeroed. Error: out of memory of the host or the device.
  static Expected<std::unique_ptr<HostCopy>>
  create(std::shared_ptr<Device> device, uint32_t count, uint64_t bytes);

  /// The host's bytes of a block, as the last `fetch` or `edit` has left them.
  std::span<std::byte> host(uint32_t index = 0) const { return blocks[index]; }
  /// The device's address of a block.
  std::byte *device(uint32_t index = 0) const {
    return memory ? memory->block(index) : blocks[index].data();
  }

  /// Downloads writes of programs. Error: the device has failed.
  Status fetch();
  /// The same, before the host writes.
  Status edit();
  /// Uploads writes of the host, before a program reads them.
  Status flush();
  /// Programs have written to the device's memory.
  void noteProgramWrites();
  /// Programs may write to the device's memory at any time. The caller of
  /// `fetch` or `flush` must exclude them during the call.
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

//===- HostCopy.h - device memory with a host copy --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_HOSTCOPY_H
#define LOCKSTEP_RUNTIME_DEVICE_HOSTCOPY_H

#include "runtime/device/Device.h"
#include "runtime/support/Memory.h"

#include <mutex>

namespace lockstep::runtime {

/// Blocks in the memory of a device, with a copy in the memory of the host.
/// Whichever side is stale is updated on demand. On a host device both are the
/// same memory, and nothing is transferred. Members are thread-safe, except
/// `share`; access to the bytes is synchronized by the caller.
class HostCopy {
public:
  HostCopy() = default;
  /// Allocates `count` blocks of `bytes` bytes each, filled with zeros. Error:
  /// out of memory of the host or the device.
  static Expected<std::unique_ptr<HostCopy>>
  create(std::shared_ptr<Device> device, uint32_t count, uint64_t bytes);
  /// One block, whose upload can be recorded.
  static Expected<std::unique_ptr<HostCopy>>
  createRecordable(std::shared_ptr<Device> device, uint64_t bytes);

  /// A block in the memory of the host. It is up to date after `fetch` or
  /// `edit`, until a program writes to the device's memory.
  std::span<std::byte> host(uint32_t index = 0) const {
    return recordable ? std::span(recordable->data(), size) : blocks[index];
  }
  /// The address of a block in the memory of the device.
  std::byte *device(uint32_t index = 0) const {
    return memory ? memory->block(index) : blocks[index].data();
  }

  /// To be called before the host reads: downloads what programs have written.
  /// Error: the device has failed.
  Status fetch();
  /// To be called before the host writes: like `fetch`, and the next `flush`
  /// uploads the blocks. Error: the device has failed.
  Status edit();
  /// To be called before a program reads: uploads what the host has written.
  /// Error: the device has failed.
  Status flush();
  /// Of `createRecordable`: enqueues an upload of what the host's block holds
  /// when the device executes it.
  void upload(Queue &queue) const {
    queue.upload(device(), host().data(), size);
  }
  /// To be called after programs have written to the device's memory.
  void noteProgramWrites();
  /// From now on programs may write to the device's memory at any time, so that
  /// each `fetch` downloads. During a `fetch` or `flush`, the caller must keep
  /// them from writing.
  void share() { isShared = true; }

private:
  Status move(bool toHost);

  std::shared_ptr<Device> owner;
  uint32_t count = 0;
  uint64_t size = 0;
  Arenas blocks;
  /// Instead of `blocks`, if it is not null.
  std::unique_ptr<HostMemory> recordable;
  /// Null on a host device.
  std::unique_ptr<DeviceMemory> memory;
  std::mutex mutex;
  bool isShared = false, hostIsNewer = false, deviceIsNewer = false;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_HOSTCOPY_H

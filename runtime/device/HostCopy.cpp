//===- HostCopy.cpp -------------------------------------------------------===//

#include "runtime/device/HostCopy.h"

#include "runtime/device/DeviceQueues.h"

namespace lockstep::runtime {

Expected<std::unique_ptr<HostCopy>>
HostCopy::create(std::shared_ptr<Device> device, uint32_t count,
                 uint64_t bytes) {
  auto copy = std::make_unique<HostCopy>();
  copy->count = count;
  copy->size = bytes;
  LOCKSTEP_RETURN_IF_ERROR(Arenas::allocate(count, bytes).moveTo(copy->blocks));
  if (!device->isHost())
    LOCKSTEP_RETURN_IF_ERROR(
        device->allocate(count, bytes).moveTo(copy->memory));
  copy->owner = std::move(device);
  return copy;
}

Expected<std::unique_ptr<HostCopy>>
HostCopy::createRecordable(std::shared_ptr<Device> device, uint64_t bytes) {
  Device &owner = *device;
  Expected<std::unique_ptr<HostCopy>> copy =
      create(std::move(device), /*count=*/1, bytes);
  if (copy && !owner.isHost())
    LOCKSTEP_RETURN_IF_ERROR(
        owner.allocateHost(bytes).moveTo((*copy)->recordable));
  return copy;
}

Status HostCopy::move(bool toHost) {
  return transfer(*owner, [&](Queue &queue) {
    for (uint32_t i = 0; i < count; ++i)
      if (std::span<std::byte> block = host(i); toHost)
        queue.download(block.data(), memory->block(i), block.size());
      else
        queue.upload(memory->block(i), block.data(), block.size());
  });
}

Status HostCopy::fetch() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!memory || !(deviceIsNewer || isShared) || hostIsNewer)
    return Status::success();
  deviceIsNewer = false;
  return move(/*toHost=*/true);
}

Status HostCopy::edit() {
  LOCKSTEP_RETURN_IF_ERROR(fetch());
  std::lock_guard<std::mutex> lock(mutex);
  hostIsNewer = true;
  return Status::success();
}

Status HostCopy::flush() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!memory || !hostIsNewer)
    return Status::success();
  hostIsNewer = false;
  return move(/*toHost=*/false);
}

void HostCopy::noteProgramWrites() {
  std::lock_guard<std::mutex> lock(mutex);
  deviceIsNewer = true;
}

} // namespace lockstep::runtime

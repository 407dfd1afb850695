//===- BatchTransfer.cpp --------------------------------------------------===//

#include "runtime/executor/BatchTransfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lockstep::runtime {

Expected<std::unique_ptr<BatchTransfer>>
BatchTransfer::create(Device &device, uint32_t replicas, uint64_t bytes) {
  std::unique_ptr<BatchTransfer> made(new BatchTransfer(device));
  // That of the memory of a GPU, on which kernels rely for wide accesses.
  constexpr uint64_t alignment = 256;
  made->bytes = bytes;
  made->stride = (bytes + alignment - 1) / alignment * alignment;
  made->bound.assign(replicas, nullptr);
  made->announced.assign(replicas, nullptr);
  LOCKSTEP_RETURN_IF_ERROR(
      device.allocate(1, made->size()).moveTo(made->current));
  LOCKSTEP_RETURN_IF_ERROR(
      device.allocateHost(made->size()).moveTo(made->slots[0].host));
  return made;
}

Status BatchTransfer::prepareAhead() {
  LOCKSTEP_RETURN_IF_ERROR(device.allocateHost(size()).moveTo(slots[1].host));
  for (Slot &slot : slots)
    LOCKSTEP_RETURN_IF_ERROR(device.allocate(1, size()).moveTo(slot.device));
  LOCKSTEP_RETURN_IF_ERROR(device.createQueue().moveTo(ahead));
  arrived = device.createEvent({});
  return Status::success();
}

void BatchTransfer::announce(uint32_t replica, const std::byte *batch) {
  if (bytes == 0 || !whyNot.empty())
    return;
  if (!ahead)
    if (Status status = prepareAhead(); !status.ok()) {
      whyNot = status.message();
      for (Slot &slot : slots)
        slot.device.reset();
      return;
    }
  announced[replica] = batch;
}

std::byte *BatchTransfer::address(uint32_t replica) const {
  return bytes ? current->block(0) + replica * stride : nullptr;
}

const std::byte *
BatchTransfer::stage(uint32_t slot,
                     const std::vector<const std::byte *> &batches) {
  std::byte *to = slots[slot].host->data();
  for (uint32_t i = 0; i < batches.size(); ++i)
    if (batches[i])
      std::memcpy(to + i * stride, batches[i], bytes);
  return to;
}

Status BatchTransfer::begin(Queue &queue) {
  if (bytes == 0)
    return Status::success();
  if (std::exchange(sent, {}) == bound) {
    queue.wait(*arrived);
    queue.copy({current->block(0), slots[filled].device->block(0), 1, size(),
                size(), size()});
    return status();
  }
  // What was sent in vain may still be read from page-locked memory.
  if (isBusy())
    LOCKSTEP_RETURN_IF_ERROR(ahead->finish());
  queue.upload(current->block(0), stage(filled, bound), size());
  return status();
}

void BatchTransfer::sendAhead() {
  std::vector<const std::byte *> batches(bound.size(), nullptr);
  std::swap(batches, announced);
  if (std::ranges::find(batches, nullptr) != batches.end())
    return;
  // The run before, which has ended, has read the other slot.
  filled = 1 - filled;
  const std::byte *from = stage(filled, batches);
  ahead->upload(slots[filled].device->block(0), from, size());
  ahead->record(*arrived);
  sent = std::move(batches);
}

} // namespace lockstep::runtime

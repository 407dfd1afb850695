//===- DeviceFindings.cpp -------------------------------------------------===//

#include "runtime/executor/DeviceFindings.h"

#include <algorithm>

namespace lockstep::runtime {

Expected<std::unique_ptr<DeviceFindings>>
DeviceFindings::create(const ProgramState &state, uint32_t slots) {
  std::unique_ptr<DeviceFindings> made(new DeviceFindings(state));
  made->slots = slots;
  made->orders.assign(state.replicaCount, 0);
  made->channelClocks.assign(state.program.channelMembers.size(), 0);
  LOCKSTEP_RETURN_IF_ERROR(
      state.queued->queues->device
          ->allocate(state.replicaCount, (slots + 1) * sizeof(NonFinite))
          .moveTo(made->memory));
  return made;
}

void DeviceFindings::begin() {
  DeviceQueues &queues = *state.queued->queues;
  for (uint32_t i = 0; i < state.replicaCount; ++i)
    queues.exchange().fill(memory->block(i), slots * sizeof(NonFinite),
                           uint32_t(NonFinite::none));
  if (state.isRecorded())
    return;
  queues.orderReplicas();
  std::ranges::fill(orders, 0);
  std::ranges::fill(channelClocks, 0);
}

FiniteSearch DeviceFindings::makeSearch(uint32_t replica, uint32_t slot,
                                        const artifact::Buffer &buffer,
                                        uint64_t elements) const {
  auto *finding = reinterpret_cast<NonFinite *>(memory->block(replica)) + slot;
  return {buffer.type()->element(), elements, state.address(replica, &buffer),
          finding, orders[replica]};
}

void DeviceFindings::search(uint32_t replica, uint32_t slot,
                            const artifact::Buffer &buffer, uint64_t elements) {
  state.queued->queues->replicas[replica].queue->search(
      makeSearch(replica, slot, buffer, elements));
}

Expected<NonFinite> DeviceFindings::searchNow(uint32_t replica,
                                              const artifact::Buffer &buffer,
                                              uint64_t elements) const {
  NonFinite result;
  FiniteSearch search = makeSearch(replica, slots, buffer, elements);
  auto *finding = reinterpret_cast<std::byte *>(search.finding);
  // The replica may wait for a collective whose result is searched.
  std::unique_ptr<Event> before = state.queued->queues->device->createEvent({});
  state.queued->queues->replicas[replica].queue->record(*before);
  LOCKSTEP_RETURN_IF_ERROR(
      transfer(*state.queued->queues->device, [&](Queue &queue) {
        queue.wait(*before);
        queue.fill(finding, sizeof(result), uint32_t(NonFinite::none));
        queue.search(search);
        queue.download(reinterpret_cast<std::byte *>(&result), finding,
                       sizeof(result));
      }));
  return result;
}

void DeviceFindings::publish(uint32_t replica, uint32_t channel) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t &clock = channelClocks[channel];
  clock = std::max(clock, orders[replica] >> clockShift);
}

void DeviceFindings::passes(uint32_t replica, uint32_t channel) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t clock =
      std::max(channelClocks[channel], orders[replica] >> clockShift);
  orders[replica] = (clock + 1) << clockShift;
}

Expected<std::vector<std::vector<NonFinite>>> DeviceFindings::read() const {
  std::vector<std::vector<NonFinite>> result(state.replicaCount);
  LOCKSTEP_RETURN_IF_ERROR(
      transfer(*state.queued->queues->device, [&](Queue &queue) {
        for (uint32_t i = 0; i < state.replicaCount; ++i) {
          result[i].resize(slots);
          queue.download(reinterpret_cast<std::byte *>(result[i].data()),
                         memory->block(i), slots * sizeof(NonFinite));
        }
      }));
  return result;
}

} // namespace lockstep::runtime

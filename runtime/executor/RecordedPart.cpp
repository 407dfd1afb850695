//===- RecordedPart.cpp ---------------------------------------------------===//

#include "runtime/executor/RecordedPart.h"

#include "runtime/executor/ProgramState.h"

#include <utility>

namespace lockstep::runtime {

static uint32_t startedBy(const Replica &replica, size_t channel) {
  return replica.started[channel].load(std::memory_order_relaxed);
}

//===----------------------------------------------------------------------===//
// Before a part
//===----------------------------------------------------------------------===//

ReplicaPlace::ReplicaPlace(const Replica &replica)
    : pc(replica.pc), registers(replica.registers),
      isFinished(replica.state.load(std::memory_order_relaxed) ==
                 Replica::finished),
      blocked(replica.blocked.load(std::memory_order_relaxed)) {
  if (uint64_t events = replica.events.load(std::memory_order_relaxed))
    event = replica.ring[(events - 1) % Replica::ringSize].load(
        std::memory_order_relaxed);
}

void ReplicaPlace::restore(Replica &replica) const {
  replica.pc = pc;
  replica.registers = registers;
  uint64_t now = blocked;
  if (isFinished)
    now = Replica::onDevice;
  else if (now != Replica::notBlocked && now != Replica::onDevice)
    now = now >> 32 << 32 | startedBy(replica, now >> 32);
  replica.blocked.store(now, std::memory_order_relaxed);
  replica.state.store(Replica::ready, std::memory_order_release);
}

PartBegin::PartBegin(const ProgramState &state) {
  const DeviceQueues &queues = *state.queued->queues;
  auto channels = uint32_t(state.program.channelMembers.size());
  for (uint32_t i = 0; i < channels; ++i)
    completed.push_back(state.rendezvous->completed(i));
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    replicas.emplace_back(state.replicas[i]);
    std::vector<uint32_t> &ofReplica = started.emplace_back();
    for (uint32_t channel = 0; channel < channels; ++channel)
      ofReplica.push_back(startedBy(state.replicas[i], channel));
    ofReplicas.push_back(queues.replicas[i].queue->enqueued());
  }
  for (const ExchangeQueue &exchange : queues.exchanges)
    ofExchanges.push_back(exchange.queue->enqueued());
}

void PartBegin::restore(ProgramState &state) const {
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    Replica &replica = state.replicas[i];
    // Instances that are complete stay so, although nothing has executed them.
    for (uint32_t channel = 0; channel < completed.size(); ++channel)
      if (startedBy(replica, channel) > 0)
        replica.started[channel].store(
            started[i][channel] + state.rendezvous->completed(channel) -
                completed[channel],
            std::memory_order_relaxed);
    replicas[i].restore(replica);
  }
}

//===----------------------------------------------------------------------===//
// Recorded parts
//===----------------------------------------------------------------------===//

template <typename Count>
std::vector<RecordedPart::Instances>
RecordedPart::difference(const std::vector<uint32_t> &before, Count after) {
  std::vector<Instances> instances;
  for (uint32_t channel = 0; channel < before.size(); ++channel)
    if (uint32_t count = after(channel) - before[channel])
      instances.push_back({channel, count});
  return instances;
}

RecordedPart::RecordedPart(const PartBegin &begin, const ProgramState &state,
                           std::unique_ptr<CommandGraph> graph)
    : graph(std::move(graph)) {
  DeviceQueues &queues = *state.queued->queues;
  completed = difference(begin.completed, [&](uint32_t channel) {
    return state.rendezvous->completed(channel);
  });
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    const Replica &replica = state.replicas[i];
    ReplicaPart part{ReplicaPlace(replica), {}, {}};
    part.started = difference(begin.started[i], [&](uint32_t channel) {
      return startedBy(replica, channel);
    });
    part.positions = queues.replicas[i].position->since(begin.ofReplicas[i]);
    for (DevicePosition::Noted &position : part.positions)
      position.enqueued -= begin.ofReplicas[i];
    replicas.push_back(std::move(part));
  }
  for (size_t i = 0; i < queues.exchanges.size(); ++i) {
    std::vector<ExchangeEnd> &ends = exchanges.emplace_back();
    for (std::atomic<uint64_t> &end : queues.exchanges[i].ends)
      if (uint64_t command = end.load(std::memory_order_relaxed);
          command > begin.ofExchanges[i])
        ends.push_back({&end, command - begin.ofExchanges[i]});
  }
}

/// The replicas have started the instances of another execution, which have
/// positions of their own.
void RecordedPart::repeat(ProgramState &state) const {
  DeviceQueues &queues = *state.queued->queues;
  for (size_t i = 0; i < exchanges.size(); ++i)
    for (const ExchangeEnd &end : exchanges[i])
      end.of->store(queues.exchanges[i].queue->enqueued() + end.command,
                    std::memory_order_release);
  for (const Instances &instances : completed)
    state.rendezvous->complete(instances.channel, instances.count);
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    ReplicaQueue &queue = queues.replicas[i];
    for (const DevicePosition::Noted &position : replicas[i].positions)
      queue.position->note(position.command,
                           queue.queue->enqueued() + position.enqueued);
    for (const Instances &instances : replicas[i].started)
      state.replicas[i].started[instances.channel].fetch_add(
          instances.count, std::memory_order_relaxed);
  }
}

void RecordedPart::execute(ProgramState &state) {
  // When they were recorded, replicas have started the instances.
  if (std::exchange(isExecuted, true))
    repeat(state);
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    const ReplicaPlace &end = replicas[i].end;
    // The interpreter blocks behind a command that waits.
    state.replicas[i].note(end.isFinished ? end.pc | Replica::blocks
                                          : end.event);
    end.restore(state.replicas[i]);
  }
  state.queued->queues->exchange().execute(*graph);
}

} // namespace lockstep::runtime

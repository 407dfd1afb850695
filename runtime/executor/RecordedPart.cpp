//===- RecordedPart.cpp ---------------------------------------------------===//

#include "runtime/executor/RecordedPart.h"

#include "runtime/executor/ProgramState.h"

#include <utility>

namespace lockstep::runtime {

static uint32_t startedBy(const Replica &replica, size_t channel) {
  return replica.started[channel].load(std::memory_order_relaxed);
}

void RecordedPart::ReplicaPart::describe(const Replica &replica) {
  pc = replica.pc;
  registers = replica.registers;
  isFinished =
      replica.state.load(std::memory_order_relaxed) == Replica::finished;
  blocked = replica.blocked.load(std::memory_order_relaxed);
}

/// The replica is there; the device executes what is before it.
void RecordedPart::ReplicaPart::place(Replica &replica) const {
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

RecordedPart::RecordedPart(const ProgramState &state) {
  const DeviceQueues &queues = *state.queued->queues;
  auto channels = uint32_t(state.program.channelMembers.size());
  for (uint32_t i = 0; i < channels; ++i)
    completed.push_back({i, state.rendezvous->completed(i)});
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    ReplicaPart &part = replicas.emplace_back();
    part.describe(state.replicas[i]);
    for (uint32_t channel = 0; channel < channels; ++channel)
      part.started.push_back({channel, startedBy(state.replicas[i], channel)});
    part.before = queues.replicas[i].queue->enqueued();
  }
  for (const ExchangeQueue &exchange : queues.exchanges)
    exchanges.emplace_back().before = exchange.queue->enqueued();
}

void RecordedPart::undo(ProgramState &state) const {
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    Replica &replica = state.replicas[i];
    const ReplicaPart &part = replicas[i];
    // Instances that are complete stay so, although nothing has executed them.
    for (const auto &[channel, before] : part.started)
      if (startedBy(replica, channel) > 0)
        replica.started[channel].store(
            before + state.rendezvous->completed(channel) -
                completed[channel].count,
            std::memory_order_relaxed);
    part.place(replica);
  }
}

void RecordedPart::end(const ProgramState &state,
                       std::unique_ptr<CommandGraph> commands) {
  graph = std::move(commands);
  auto keepNew = [](std::vector<Instances> &instances, auto count) {
    for (Instances &of : instances)
      of.count = count(of.channel) - of.count;
    std::erase_if(instances, [](const Instances &of) { return !of.count; });
  };
  keepNew(completed, [&](uint32_t channel) {
    return state.rendezvous->completed(channel);
  });
  DeviceQueues &queues = *state.queued->queues;
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    const Replica &replica = state.replicas[i];
    ReplicaPart &part = replicas[i];
    part.describe(replica);
    keepNew(part.started,
            [&](uint32_t channel) { return startedBy(replica, channel); });
    part.positions = queues.replicas[i].position->since(part.before);
    for (DevicePosition::Noted &position : part.positions)
      position.enqueued -= part.before;
  }
  for (size_t i = 0; i < exchanges.size(); ++i)
    for (std::atomic<uint64_t> &end : queues.exchanges[i].ends)
      if (uint64_t command = end.load(std::memory_order_relaxed);
          command > exchanges[i].before)
        exchanges[i].ends.push_back({&end, command - exchanges[i].before});
}

void RecordedPart::execute(ProgramState &state) {
  DeviceQueues &queues = *state.queued->queues;
  // The replicas have started the instances while they were recorded.
  bool isRepeated = std::exchange(isExecuted, true);
  if (isRepeated) {
    for (size_t i = 0; i < exchanges.size(); ++i) {
      uint64_t before = queues.exchanges[i].queue->enqueued();
      for (const ExchangePart::End &end : exchanges[i].ends)
        end.of->store(before + end.command, std::memory_order_release);
    }
    for (const Instances &instances : completed)
      state.rendezvous->complete(instances.channel, instances.count);
  }
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    Replica &replica = state.replicas[i];
    const ReplicaPart &part = replicas[i];
    ReplicaQueue &queue = queues.replicas[i];
    if (isRepeated) {
      uint64_t before = queue.queue->enqueued();
      for (const DevicePosition::Noted &position : part.positions)
        queue.position->note(position.command, before + position.enqueued);
      for (const Instances &instances : part.started)
        replica.started[instances.channel].fetch_add(instances.count,
                                                     std::memory_order_relaxed);
    }
    replica.note(part.pc | Replica::blocks);
    part.place(replica);
  }
  queues.exchange().execute(*graph);
}

} // namespace lockstep::runtime

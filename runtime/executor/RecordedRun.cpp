//===- RecordedRun.cpp ----------------------------------------------------===//

#include "runtime/executor/RecordedRun.h"

#include "runtime/executor/ProgramState.h"
#include "runtime/schema/Types.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lockstep::runtime {

/// Why a command is not the same in every run; null if it is.
static const char *findObstacle(const Instruction &instruction) {
  if (instruction.flags & Instruction::dynamic)
    return "sizes are computed in the step";
  if (instruction.flags & Instruction::sharedVariable)
    return "other sessions use its variables at the same time";
  switch (instruction.opcode) {
  case Opcode::loadRegister:
    return "the host reads a number of the device";
  case Opcode::branchUnless:
    return "the host reads a condition of the device";
  case Opcode::next:
    return "the host loads a batch";
  case Opcode::start:
  case Opcode::barrier:
    return instruction.plan->dynamic ? "sizes are computed in the step"
                                     : nullptr;
  default:
    return nullptr;
  }
}

/// Whether replicas execute more commands than could be recorded without too
/// much memory of the device, as in a long loop. Nothing but numbers that are
/// in the program decides which ones; a `once` section counts for each replica.
static bool hasTooManyCommands(const Program &program, uint32_t replicas) {
  constexpr uint64_t most = 1 << 15, mostSteps = 16 * most;
  std::vector<int64_t> registers(program.tables->registers());
  uint64_t commands = 0;
  uint32_t pc = 0;
  for (uint64_t step = 0; step < mostSteps; ++step) {
    const Instruction &instruction = program.code[pc++];
    switch (instruction.opcode) {
    case Opcode::ret:
      return commands * replicas > most;
    case Opcode::jump:
      pc = instruction.b;
      break;
    case Opcode::branchGreaterEqual:
      if (registers[instruction.a] >= registers[instruction.c])
        pc = instruction.b;
      break;
    case Opcode::setRegister:
      registers[instruction.a] = instruction.value;
      break;
    case Opcode::addRegister:
      registers[instruction.a] = int64_t(uint64_t(registers[instruction.a]) +
                                         uint64_t(registers[instruction.b]));
      break;
    default:
      ++commands;
    }
  }
  return true;
}

RecordedRun::RecordedRun(ProgramState &state, uint32_t mostReplicas)
    : state(state) {
  const Program &program = state.program;
  for (uint32_t pc = 0; pc < program.code.size() && reason.empty(); ++pc)
    if (const char *found = findObstacle(program.code[pc]))
      reason = fmt::format("{}: {}", program.place(pc), found);
  if (reason.empty() && hasTooManyCommands(program, mostReplicas))
    reason = "there are too many commands";
  if (reason.empty() && !state.transport->canRecord())
    reason = "the transport cannot exchange all collectives between devices";
  repeatable = reason.empty();
}

DeviceQueues &RecordedRun::queues() const { return *state.queued->queues; }

std::vector<Queue *> RecordedRun::others() const {
  std::vector<Queue *> others;
  for (const ExchangeQueue &exchange : queues().exchanges)
    if (exchange.queue.get() != &queues().exchange())
      others.push_back(exchange.queue.get());
  for (const ReplicaQueue &replica : queues().replicas)
    others.push_back(replica.queue.get());
  return others;
}

std::vector<uint32_t> RecordedRun::completed() const {
  std::vector<uint32_t> counts;
  for (uint32_t i = 0; i < state.program.channelMembers.size(); ++i)
    counts.push_back(state.rendezvous->completed(i));
  return counts;
}

Status RecordedRun::begin() {
  if (!hasRun || !reason.empty())
    return Status::success();
  completedBefore = completed();
  for (const ExchangeQueue &exchange : queues().exchanges)
    beforeOfExchange.push_back(exchange.queue->enqueued());
  for (const ReplicaQueue &replica : queues().replicas)
    beforeOfReplica.push_back(replica.queue->enqueued());
  LOCKSTEP_RETURN_IF_ERROR(planOutputs());
  LOCKSTEP_RETURN_IF_ERROR(queues().exchange().beginRecording(others()));
  recording = true;
  recordScalars();
  return Status::success();
}

/// The host sets scalars while the device executes nothing.
void RecordedRun::recordScalars() {
  if (state.program.usedScalars.empty())
    return;
  state.scalars().upload(queues().exchange());
  queues().orderReplicas();
}

Status RecordedRun::planOutputs() {
  // Others are rarely read after each run.
  constexpr uint64_t most = 4096, alignment = 16;
  const artifact::Program &tables = *state.program.tables;
  uint64_t total = 0;
  for (uint32_t i = 0; tables.outputs() && i < tables.outputs()->size(); ++i) {
    const artifact::Buffer *buffer =
        tables.buffers()->Get(tables.outputs()->Get(i)->buffer());
    // Other programs may change a variable.
    if (buffer->space() != artifact::Space::replica &&
        buffer->space() != artifact::Space::shared)
      continue;
    if (buffer->size() == 0 || buffer->size() > most)
      continue;
    for (uint32_t replica = 0; replica < state.replicaCount; ++replica) {
      const std::byte *address = state.address(replica, buffer);
      if (!outputAt.try_emplace(address, outputs.size()).second)
        continue;
      outputs.push_back({address, replica, buffer->size(), total});
      total += (buffer->size() + alignment - 1) / alignment * alignment;
    }
  }
  return queues().device->allocateHost(total).moveTo(hostOutputs);
}

void RecordedRun::recordOutputs() {
  for (const OutputCopy &output : outputs)
    queues().replicas[output.replica].queue->download(
        hostOutputs->data() + output.offset, output.device, output.bytes);
}

const std::byte *RecordedRun::output(const std::byte *device,
                                     uint64_t bytes) const {
  auto found = outputAt.find(device);
  if (!graph || found == outputAt.end() || bytes > outputs[found->second].bytes)
    return nullptr;
  return hostOutputs->data() + outputs[found->second].offset;
}

Status RecordedRun::end() {
  hasRun = true;
  if (!recording)
    return Status::success();
  recordOutputs();
  recording = false;
  instances = completed();
  for (size_t i = 0; i < instances.size(); ++i)
    instances[i] -= completedBefore[i];
  return queues().exchange().endRecording().moveTo(graph);
}

/// Another run has started and enqueued all instances.
void RecordedRun::startInstances() {
  for (uint32_t channel = 0; channel < instances.size(); ++channel) {
    uint32_t count = instances[channel];
    for (uint32_t i = 0; i < state.replicaCount; ++i)
      if (auto &started = state.replicas[i].started[channel];
          started.load(std::memory_order_relaxed) > 0)
        started.fetch_add(count, std::memory_order_relaxed);
    state.rendezvous->complete(channel, count);
  }
}

/// The positions that were noted while commands were recorded are now those of
/// the graph's execution.
void RecordedRun::shiftPositions() {
  for (size_t i = 0; i < queues().exchanges.size(); ++i) {
    ExchangeQueue &exchange = queues().exchanges[i];
    exchange.shifted.store(exchange.queue->enqueued() - beforeOfExchange[i],
                           std::memory_order_release);
  }
  for (size_t i = 0; i < queues().replicas.size(); ++i) {
    ReplicaQueue &replica = queues().replicas[i];
    replica.position->shift(replica.queue->enqueued() - beforeOfReplica[i]);
  }
}

void RecordedRun::execute() {
  // The replicas have started the instances while they were recorded.
  if (std::exchange(isExecuted, true))
    startInstances();
  // Nothing is enqueued on other queues that the device has not executed.
  Queue &all = queues().exchange();
  shiftPositions();
  auto last = uint32_t(state.program.code.size() - 1);
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    Replica &replica = state.replicas[i];
    replica.pc = last;
    replica.note(last | Replica::blocks);
    replica.blocked.store(Replica::onDevice, std::memory_order_relaxed);
    replica.state.store(Replica::ready, std::memory_order_release);
  }
  // The host enqueues nothing else, but the end, before it has been reached.
  all.execute(*graph);
}

} // namespace lockstep::runtime

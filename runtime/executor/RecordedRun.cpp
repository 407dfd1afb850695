//===- RecordedRun.cpp ----------------------------------------------------===//

#include "runtime/executor/RecordedRun.h"

#include "runtime/executor/ProgramState.h"
#include "runtime/executor/ScalarValue.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lockstep::runtime {

/// Of all recorded parts and all replicas of an executor: more would need too
/// much memory of the device.
static constexpr uint64_t mostCommands = 1 << 15;
static constexpr size_t mostParts = 1 << 10;

static const char *const tooManyCommands = "there are too many commands";

RecordedRun::RecordedRun(ProgramState &state, uint32_t mostReplicas,
                         bool hasOtherExecutors)
    : state(state), mostReplicas(mostReplicas),
      reason(findObstacle(state.program, hasOtherExecutors)),
      held(state.replicaCount), commandsLeft(mostCommands) {
  const Program &program = state.program;
  ProgramPoint begin;
  begin.registers.resize(program.tables->registers());
  ProgramPath path = findPath(program, std::move(begin), mostCommands);
  if (reason.empty() && mostReplicas * path.commands > mostCommands)
    reason = tooManyCommands;
  if (reason.empty() && !state.transport->canRecord())
    reason = "the transport cannot exchange all collectives between devices";
  repeatable = reason.empty() && !hasDecisions(program);
}

DeviceQueues &RecordedRun::queues() const { return *state.queued->queues; }

std::vector<Queue *> RecordedRun::otherQueues() const {
  std::vector<Queue *> others;
  for (const ExchangeQueue &exchange : queues().exchanges)
    if (exchange.queue.get() != &queues().exchange())
      others.push_back(exchange.queue.get());
  for (const ReplicaQueue &replica : queues().replicas)
    others.push_back(replica.queue.get());
  return others;
}

//===----------------------------------------------------------------------===//
// Finding parts
//===----------------------------------------------------------------------===//

bool RecordedRun::isAtDecision(uint32_t index) const {
  const Replica &replica = state.replicas[index];
  return isDecision(state.program.code[replica.pc]) &&
         replica.blocked.load(std::memory_order_relaxed) == Replica::onDevice;
}

ProgramPoint RecordedRun::pointOf(uint32_t index) const {
  const Replica &replica = state.replicas[index];
  ProgramPoint point{replica.pc, std::nullopt, replica.registers};
  const Instruction &next = state.program.code[replica.pc];
  if (isAtDecision(index))
    point.value = loadInteger(decisionElement(next),
                              queues().replicas[index].scalar->data());
  return point;
}

/// No other state has an effect: there are no arrivals at incomplete instances,
/// and who has begun a `once` section is in it, while the others wait for it.
std::vector<int64_t> RecordedRun::findKey() const {
  std::vector<int64_t> key;
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    const Replica &replica = state.replicas[i];
    uint64_t blocked = replica.blocked.load(std::memory_order_relaxed);
    ProgramPoint point = pointOf(i);
    Place place = Place::ready;
    if (replica.state.load(std::memory_order_relaxed) == Replica::finished) {
      place = Place::finished;
    } else if (blocked == Replica::onDevice) {
      place = Place::decision;
    } else if (blocked != Replica::notBlocked) {
      place = Place::rendezvous;
      point.value = int64_t(blocked >> 32);
    }
    key.push_back(int64_t(place));
    key.push_back(int64_t(point.pc));
    key.push_back(point.value.value_or(0));
    key.insert(key.end(), point.registers.begin(), point.registers.end());
  }
  return key;
}

bool RecordedRun::hasArrivals() const {
  for (uint32_t i = 0; i < state.program.channelMembers.size(); ++i)
    if (!state.rendezvous->isEmpty(i))
      return true;
  return false;
}

/// The longest path, the same in all executors that make the same decisions.
ProgramPath RecordedRun::findPartPath() const {
  ProgramPath longest;
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    if (state.replicas[i].state.load(std::memory_order_relaxed) ==
        Replica::finished)
      continue;
    ProgramPath path = findPath(state.program, pointOf(i), mostCommands);
    longest.commands = std::max(longest.commands, path.commands);
    longest.writesVariables |= path.writesVariables;
  }
  return longest;
}

/// Whether the current part is to be recorded; says why it cannot be.
bool RecordedRun::mayRecord() {
  if (current->recorded || !current->hasRun || current->isOmitted ||
      !reason.empty())
    return false;
  ProgramPath path = findPartPath();
  uint64_t commands = path.commands * mostReplicas;
  current->writesVariables = path.writesVariables;
  current->isOmitted = commands > commandsLeft;
  if (current->isOmitted)
    partReason = tooManyCommands;
  else
    commandsLeft -= commands;
  return !current->isOmitted;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void RecordedRun::begin() {
  active = true;
  isFirst = true;
  decide();
}

Status RecordedRun::beginPart() {
  hasExecuted = false;
  completedBefore.clear();
  for (uint32_t i = 0; i < state.program.channelMembers.size(); ++i)
    completedBefore.push_back(state.rendezvous->completed(i));
  std::vector<int64_t> key = findKey();
  auto known = parts.find(key);
  unkept = Part();
  unkept.isOmitted = true;
  if (hasArrivals()) {
    current = &unkept;
  } else if (known == parts.end() && parts.size() == mostParts) {
    current = &unkept;
    partReason = fmt::format("what the host reads differs: {} sequences of "
                             "commands have been executed",
                             mostParts);
  } else {
    current = known != parts.end() ? &known->second : &parts[std::move(key)];
  }
  if (isFirst)
    first = current;
  return mayRecord() ? startToRecord() : Status::success();
}

Status RecordedRun::startToRecord() {
  if (!hostOutputs)
    LOCKSTEP_RETURN_IF_ERROR(planOutputs());
  auto begin = std::make_unique<PartBegin>(state);
  LOCKSTEP_RETURN_IF_ERROR(queues().exchange().beginRecording(otherQueues()));
  recording = std::move(begin);
  if (isFirst)
    recordScalars();
  return Status::success();
}

Status RecordedRun::endPart() {
  isFirst = false;
  current->hasRun = true;
  if (hasArrivals() && !current->isOmitted) {
    current->isOmitted = true;
    partReason = "some replicas make decisions while others wait for them";
  }
  if (!recording)
    return Status::success();
  if (isAtEnd())
    recordOutputs();
  std::unique_ptr<CommandGraph> graph;
  LOCKSTEP_RETURN_IF_ERROR(queues().exchange().endRecording().moveTo(graph));
  current->recorded =
      std::make_unique<RecordedPart>(*recording, state, std::move(graph));
  recording.reset();
  return Status::success();
}

void RecordedRun::execute() {
  isFirst = false;
  hasExecuted = true;
  current->recorded->execute(state);
  for (uint32_t i = 0; i < state.replicaCount; ++i)
    if (isAtDecision(i))
      hold(i);
}

bool RecordedRun::isAtEnd() const {
  for (uint32_t i = 0; i < state.replicaCount; ++i)
    if (isHeld(i) ||
        state.program.code[state.replicas[i].pc].opcode != Opcode::ret)
      return false;
  return true;
}

bool RecordedRun::isHolding() const {
  return std::ranges::find(held, true) != held.end();
}

bool RecordedRun::precedesPart(uint32_t channel) const {
  return active &&
         state.rendezvous->completed(channel) == completedBefore[channel];
}

void RecordedRun::refuse(const Status &error) {
  reason = error.message();
  if (recording)
    recording->restore(state);
  decide();
  forget();
}

void RecordedRun::forget() {
  hasExecuted = false;
  recording.reset();
  for (auto &[key, part] : parts)
    part.recorded.reset();
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

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
  if (!hasExecuted || found == outputAt.end() ||
      bytes > outputs[found->second].bytes)
    return nullptr;
  return hostOutputs->data() + outputs[found->second].offset;
}

} // namespace lockstep::runtime

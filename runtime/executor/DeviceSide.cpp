//===- DeviceSide.cpp -----------------------------------------------------===//

#include "runtime/executor/DeviceSide.h"

#include "runtime/schema/Types.h"

#include <utility>

namespace lockstep::runtime {

bool DeviceSide::fetch(const Instruction &instruction) {
  if (std::exchange(isFetched, false))
    return true;
  switch (instruction.opcode) {
  case Opcode::loadRegister:
  case Opcode::branchUnless:
    queue().download(device().scalar->data(),
                     state.program.addresses[instruction.firstAddress].in(
                         replica.bases.data()),
                     elementSize(decisionElement(instruction)));
    if (!state.isInParts())
      return device().recordReady();
    state.queued->recorded->hold(replica.index);
    return false;
  case Opcode::start:
  case Opcode::barrier:
    return !instruction.plan->isMember(uint32_t(replica.rank)) ||
           state.transport->prepare(*instruction.plan, replica.index);
  case Opcode::ret:
    return state.isRecording() || device().recordReady();
  default:
    return true;
  }
}

bool DeviceSide::await() {
  bool isReady = device().recordReady();
  while (!isReady) {
    uint32_t key = execution.events.key();
    if (execution.stop.load(std::memory_order_acquire))
      return false;
    isReady = device().ready->isComplete();
    if (!isReady)
      execution.events.sleep(key);
  }
  return true;
}

void DeviceSide::launch(const Instruction &instruction, uint32_t tiles) {
  auto *buffers = reinterpret_cast<std::byte **>(replica.pointers.data());
  queue().launch(instruction.kernel, tiles, {buffers, instruction.addressCount},
                 {replica.scalars.data(), size_t(instruction.scalarCount)});
}

void DeviceSide::pass(uint32_t channel) {
  // The events of earlier parts may be those of graphs, which the host has
  // awaited.
  if (state.isInParts() && state.queued->recorded->precedesPart(channel))
    return;
  const Program &program = state.program;
  const Instruction &owner = program.code[program.channelCommands[channel]];
  if (owner.opcode == Opcode::once)
    section(channel).pass(queue());
  else
    state.transport->pass(*owner.plan, replica.index);
}

} // namespace lockstep::runtime

//===- CommandGuard.cpp ---------------------------------------------------===//

#include "runtime/executor/CommandGuard.h"

#include "runtime/executor/Faults.h"

#include <chrono>

#include <fmt/format.h>

namespace lockstep::runtime {

Outcome CommandGuard::prepare(const Instruction &instruction, uint32_t pc,
                              Status &error) {
  const Program &program = execution.state.program;
  if (instruction.flags & Instruction::injected)
    for (const Injection &injection : execution.injections)
      if (actsAt(injection, program, uint32_t(replica.rank), pc)) {
        if (execution.onInjection)
          execution.onInjection(injection.text);
        if (injection.fault == Fault::pause)
          return Outcome::paused;
        fault = &injection;
      }
  if ((instruction.flags & Instruction::locksVariables) && !lockVariables())
    return Outcome::stopped;
  if (instruction.flags & Instruction::writesVariable) {
    // Store `variablesTouched`, then check `stop`: after a failure, either a
    // reader sees `variablesTouched`, or nothing is written here. It is stored
    // once for each run: a store takes longer than a small kernel.
    if (execution.stop.load(std::memory_order_relaxed))
      return Outcome::stopped;
    if (!execution.variablesTouched.load(std::memory_order_seq_cst))
      execution.variablesTouched.store(true, std::memory_order_seq_cst);
    if (execution.stop.load(std::memory_order_seq_cst))
      return Outcome::stopped;
  }
  if (instruction.flags & Instruction::dynamic)
    for (const DynamicSlice &slice : program.dynamicSlices[pc])
      if (!dynamicBytes(slice, replica.registers.data())) {
        error = breaksBound(slice, pc);
        return Outcome::failed;
      }
  return proceed;
}

/// False if the run was aborted meanwhile: the owner of the lock may be inside
/// of a kernel that never ends.
bool CommandGuard::lockVariables() {
  constexpr auto pollInterval = std::chrono::milliseconds(10);
  while (!variables.try_lock_for(pollInterval))
    if (execution.stop.load(std::memory_order_relaxed) ||
        (execution.network && execution.network->isAborted()))
      return false;
  return true;
}

Status CommandGuard::breaksBound(const DynamicSlice &slice, uint32_t pc) const {
  const Program &program = execution.state.program;
  std::vector<int64_t> dimensions;
  for (uint32_t index : slice.registers)
    dimensions.push_back(replica.registers[index]);
  return {StatusCode::outOfRange,
          fmt::format("{}: {}: dynamic dimensions [{}] of buffer {} break "
                      "its bound of {} bytes",
                      program.place(pc, replica.rank), program.describe(pc),
                      fmt::join(dimensions, ", "), slice.buffer, slice.bound)};
}

} // namespace lockstep::runtime

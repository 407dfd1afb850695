//===- TripCounts.cpp - loops and how often they are executed -------------===//

#include "tools/lockstep-inspect/Inspection.h"

namespace lockstep::inspect {

namespace {

bool changes(const CommandInfo &command, uint32_t index) {
  return (command.op == "set_register" || command.op == "add_register" ||
          command.op == "load_register") &&
         command.registers.front() == index;
}

/// The value of a register that one command sets and no other changes.
std::optional<int64_t> constantOf(const ProgramInfo &program, uint32_t index) {
  std::optional<int64_t> value;
  for (const CommandInfo &command : program.commands) {
    if (!changes(command, index))
      continue;
    if (value || !command.value)
      return std::nullopt;
    value = command.value;
  }
  return value;
}

/// The number of iterations, if all registers involved are constants.
std::optional<uint64_t> countTrips(const ProgramInfo &program, uint32_t head,
                                   uint32_t end) {
  const CommandInfo &branch = program.commands[head];
  if (branch.op != "branch_ge")
    return std::nullopt;
  uint32_t induction = branch.registers[0];
  std::optional<int64_t> first,
      limit = constantOf(program, branch.registers[1]), stride;
  for (uint32_t i = 0; i < program.commands.size(); ++i) {
    const CommandInfo &command = program.commands[i];
    if (!changes(command, induction))
      continue;
    bool inside = i > head && i <= end;
    std::optional<int64_t> operand =
        command.op == "add_register" ? constantOf(program, command.registers[1])
                                     : command.value;
    if (!operand || (inside && (stride || command.op != "add_register")))
      return std::nullopt;
    if (inside)
      stride = operand;
    else
      first = command.op == "add_register" ? first.value_or(0) + *operand
                                           : *operand;
  }
  if (!first || !limit || !stride || *stride <= 0)
    return std::nullopt;
  return *first >= *limit
             ? 0
             : (static_cast<uint64_t>(*limit - *first) + *stride - 1) / *stride;
}

} // namespace

/// A backward jump ends a loop, whose head is a `branch_ge` on a counter.
void findLoops(ProgramInfo &program) {
  for (uint32_t i = 0; i < program.commands.size(); ++i)
    if (const CommandInfo &command = program.commands[i];
        command.op == "jump" && *command.target <= i)
      program.loops.push_back(
          {{*command.target, i}, countTrips(program, *command.target, i)});
}

uint64_t timesOf(const ProgramInfo &program, uint32_t command) {
  uint64_t times = 1;
  for (const LoopInfo &loop : program.loops)
    if (loop.commands.first <= command && command <= loop.commands.last)
      times *= loop.trips.value_or(1);
  return times;
}

} // namespace lockstep::inspect

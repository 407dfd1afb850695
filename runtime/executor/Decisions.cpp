//===- Decisions.cpp ------------------------------------------------------===//

#include "runtime/executor/Decisions.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime {

bool hasDecisions(const Program &program) {
  return std::ranges::any_of(program.code, isDecision);
}

/// Whether replicas of several executors read the same value: the compiler has
/// proved that it is the same on all replicas, or it is a constant, a host
/// scalar or a mirrored variable.
static bool readsUniformValue(const Program &program,
                              const Instruction &decision) {
  switch (artifact::Space(program.addresses[decision.firstAddress].space)) {
  case artifact::Space::shared:
  case artifact::Space::constant:
  case artifact::Space::scalar:
  case artifact::Space::variable:
    return true;
  default:
    return false;
  }
}

/// Null if there is none.
static const char *findObstacle(const Program &program,
                                const Instruction &instruction,
                                bool hasOthers) {
  if (instruction.flags & Instruction::sharedVariable)
    return "other sessions use its variables at the same time";
  switch (instruction.opcode) {
  case Opcode::loadRegister:
  case Opcode::branchUnless:
    return hasOthers && !readsUniformValue(program, instruction)
               ? "the host reads a value of one replica, so that executors may "
                 "continue with different commands"
               : nullptr;
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

std::string findObstacle(const Program &program, bool hasOthers) {
  for (uint32_t pc = 0; pc < program.code.size(); ++pc)
    if (const char *found = findObstacle(program, program.code[pc], hasOthers))
      return fmt::format("{}: {}", program.place(pc), found);
  return "";
}

ProgramPath findPath(const Program &program, ProgramPoint from, uint64_t most) {
  std::vector<int64_t> &registers = from.registers;
  uint32_t pc = from.pc;
  if (from.value) {
    const Instruction &decision = program.code[pc];
    bool isTaken = decision.opcode == Opcode::branchUnless && !*from.value;
    if (decision.opcode == Opcode::loadRegister)
      registers[decision.a] = *from.value;
    pc = isTaken ? decision.b : pc + 1;
  }
  ProgramPath path;
  for (uint64_t step = 0; step < 16 * most && path.commands <= most; ++step) {
    const Instruction &instruction = program.code[pc++];
    path.writesVariables |= instruction.flags & Instruction::writesVariable;
    switch (instruction.opcode) {
    case Opcode::loadRegister:
    case Opcode::branchUnless:
    case Opcode::ret:
      return path;
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
      ++path.commands;
    }
  }
  path.commands = most + 1;
  return path;
}

} // namespace lockstep::runtime

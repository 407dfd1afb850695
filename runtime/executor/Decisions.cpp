//===- Decisions.cpp ------------------------------------------------------===//

#include "runtime/executor/Decisions.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime {

bool hasDecisions(const Program &program) {
  return std::ranges::any_of(program.code, isDecision);
}

/// Whether a process has one value for all of its replicas: one that the
/// compiler has proved to be equal on all replicas, a constant, a host scalar
/// or a mirrored variable. Executors have the same value.
static bool isShared(const Program &program, const Instruction &decision) {
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
static const char *findObstacle(const Instruction &instruction) {
  if (instruction.flags & Instruction::sharedVariable)
    return "other sessions use its variables at the same time";
  switch (instruction.opcode) {
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

std::string findObstacle(const Program &program, bool hasOtherExecutors) {
  uint32_t sectionEnd = 0;
  for (uint32_t pc = 0; pc < program.code.size(); ++pc) {
    const Instruction &instruction = program.code[pc];
    const char *found = findObstacle(instruction);
    if (instruction.opcode == Opcode::once)
      sectionEnd = instruction.b;
    if (hasOtherExecutors && isDecision(instruction)) {
      if (!isShared(program, instruction))
        found = "the host reads a value that each replica has for itself, so "
                "that executors may continue with different commands";
      else if (pc < sectionEnd)
        // Which replica executes a section depends on the run before it.
        found = "the host reads a value in a section of one replica";
    }
    if (found)
      return fmt::format("{}: {}", program.place(pc), found);
  }
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

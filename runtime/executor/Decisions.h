//===- Decisions.h - where a program depends on data ------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_DECISIONS_H
#define LOCKSTEP_RUNTIME_EXECUTOR_DECISIONS_H

#include "runtime/executor/Program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// Whether the host reads a value from the memory of the replica's device to
/// execute a command, and continues according to this value: a decision.
/// Between two decisions, a replica executes the same commands whenever it
/// begins at the same command with the same registers.
inline bool isDecision(const Instruction &instruction) {
  return instruction.opcode == Opcode::loadRegister ||
         instruction.opcode == Opcode::branchUnless;
}

/// The type of the value that the host reads at a decision.
inline artifact::ElementType decisionElement(const Instruction &instruction) {
  return instruction.opcode == Opcode::loadRegister ? instruction.element
                                                    : artifact::ElementType::i1;
}

bool hasDecisions(const Program &program);

/// Why commands of a program cannot be recorded between decisions, with the
/// source line; empty if they can. `hasOtherExecutors`, which have to be at the
/// same decisions, with the same values.
std::string findObstacle(const Program &program, bool hasOtherExecutors);

/// Where a replica continues, and with which registers.
struct ProgramPoint {
  uint32_t pc = 0;
  /// What it has read, if it continues at a decision.
  std::optional<int64_t> value;
  std::vector<int64_t> registers;
};

/// What a replica executes until the next decision or the end. `once` sections
/// count for each replica.
struct ProgramPath {
  /// Other commands than those of control flow.
  uint64_t commands = 0;
  bool writesVariables = false;
};

/// `commands` are more than `most` if there are more, or far more commands of
/// control flow.
ProgramPath findPath(const Program &program, ProgramPoint from, uint64_t most);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_DECISIONS_H

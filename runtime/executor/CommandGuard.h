//===- CommandGuard.h - what precedes a command -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_COMMANDGUARD_H
#define LOCKSTEP_RUNTIME_EXECUTOR_COMMANDGUARD_H

#include "runtime/executor/Execution.h"

#include <mutex>
#include <utility>

namespace lockstep::runtime {

/// The slow path before commands of one replica: injected faults, the lock of
/// shared variables, and the bounds of dynamic sizes.
class CommandGuard {
public:
  CommandGuard(const Execution &execution, Replica &replica)
      : execution(execution), replica(replica),
        variables(*execution.state.variablesMutex, std::defer_lock) {}

  /// Whether `prepare` must be called before the command is executed.
  static bool isNeeded(const Instruction &instruction) {
    constexpr uint8_t slowFlags = Instruction::dynamic | Instruction::injected |
                                  Instruction::writesVariable |
                                  Instruction::locksVariables;
    return instruction.flags & slowFlags;
  }

  /// Returns `proceed` if the command can be executed. `error` is set if the
  /// outcome is `failed`.
  Outcome prepare(const Instruction &instruction, uint32_t pc, Status &error);

  /// Whether the command, a launch, has a fault.
  bool hasFault() const { return fault; }
  /// The fault, which acts once.
  Fault takeFault() { return std::exchange(fault, nullptr)->fault; }

  bool holdsVariables() const { return variables.owns_lock(); }
  void unlockVariables() { variables.unlock(); }

private:
  bool lockVariables();
  Status breaksBound(const DynamicSlice &slice, uint32_t pc) const;

  const Execution &execution;
  Replica &replica;
  /// Held between `locksVariables` and `unlocksVariables`; released if the
  /// interpreter returns in between.
  std::unique_lock<std::timed_mutex> variables;
  /// The fault of the current launch.
  const Injection *fault = nullptr;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_COMMANDGUARD_H

//===- Faults.h - effects of injected faults --------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_FAULTS_H
#define LOCKSTEP_RUNTIME_EXECUTOR_FAULTS_H

#include "runtime/executor/Program.h"

#include <memory>
#include <span>

namespace lockstep::runtime {

class ProgramState;
struct Replica;

/// Marks the commands of a program at which a fault may act.
void markFaults(Program &program, std::span<const Injection> injections);

/// Error: a fault of one of the ranks `here` that acts in none of `programs`,
/// because the program, channel or command does not exist or the command is no
/// suitable launch.
Status checkFaults(std::span<const Injection> injections,
                   std::span<const std::unique_ptr<Program>> programs,
                   const RankRange &here);

/// Whether a fault acts on a rank at a command.
bool actsAt(const Injection &injection, const Program &program, uint32_t rank,
            uint32_t command);

/// Simulates a kernel that never returns, without using CPU time.
[[noreturn]] void neverReturn();

/// Writes a NaN into the last element of each tensor of floats that the launch
/// writes. Error: the device has failed.
Status writeNan(const ProgramState &state, uint32_t command,
                const Replica &replica);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_FAULTS_H

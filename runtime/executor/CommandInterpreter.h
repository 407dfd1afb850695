//===- CommandInterpreter.h - executes commands of one replica --*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_COMMANDINTERPRETER_H
#define LOCKSTEP_RUNTIME_EXECUTOR_COMMANDINTERPRETER_H

#include "runtime/executor/Execution.h"

namespace lockstep::runtime {

/// Executes commands of `replica`, which the calling worker has claimed, until
/// it cannot continue. Resumes at `replica.pc`. `error` is set if the outcome
/// is `failed`.
Outcome execute(const Execution &execution, Replica &replica, uint32_t worker,
                Status &error);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_COMMANDINTERPRETER_H

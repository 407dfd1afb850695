//===- Interpreter.h - executes commands of one replica ---------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_INTERPRETER_H
#define LOCKSTEP_RUNTIME_EXECUTOR_INTERPRETER_H

#include "runtime/executor/Injection.h"
#include "runtime/executor/Observer.h"
#include "runtime/executor/ProgramState.h"
#include "runtime/executor/Session.h"
#include "runtime/transport/Network.h"

#include <atomic>
#include <functional>
#include <vector>

namespace lockstep::runtime {

/// Why the interpreter let go of a replica.
enum class Outcome : uint8_t {
  finished,
  /// A wait cannot be satisfied: `Replica::blocked` says which.
  blocked,
  /// An injected fault stopped it for good: before a command, or in the middle
  /// of one.
  paused,
  left,
  /// `Execution::error` says why.
  failed,
  /// The run was stopped by somebody else.
  stopped,
};

/// What the interpreter needs to know of the run besides the replica.
struct Execution {
  ProgramState &state;
  TileScheduler &tiles;
  EventCount &events;
  /// Others may sleep and have to be told when an instance completes.
  bool hasOtherWorkers;
  std::atomic<bool> &stop;
  std::atomic<bool> &variablesTouched;
  /// Null if there are no other executors.
  Network *network;
  const std::vector<Injection> &injections;
  const std::function<void(const std::string &)> &onInjection;
  const std::vector<Observer *> &observers;
  BrokenRule brokenRule;
};

/// Executes commands of `replica`, which the calling worker has claimed, until
/// it cannot go on. Resumes where it left off. `error` is set if the outcome is
/// `failed`.
Outcome execute(const Execution &execution, Replica &replica, uint32_t worker,
                Status &error);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_INTERPRETER_H

//===- Execution.h - a run as the interpreter sees it -----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_EXECUTION_H
#define LOCKSTEP_RUNTIME_EXECUTOR_EXECUTION_H

#include "runtime/executor/Injection.h"
#include "runtime/executor/Observer.h"
#include "runtime/executor/ProgramState.h"
#include "runtime/executor/Session.h"
#include "runtime/transport/Network.h"

#include <atomic>
#include <functional>
#include <vector>

namespace lockstep::runtime {

/// Why the interpreter has returned.
enum class Outcome : uint8_t {
  finished,
  /// A wait cannot be satisfied: `Replica::blocked` is its instance.
  blocked,
  /// An injected fault stopped the replica permanently: before a command
  /// (`paused`), or inside of one (`left`).
  paused,
  left,
  /// The argument `error` is the reason.
  failed,
  /// The run was stopped by another thread.
  stopped,
};

/// Not an outcome: the interpreter does not return yet.
inline constexpr Outcome proceed = Outcome(0xff);

/// The state of the run that the interpreter uses besides the replica.
struct Execution {
  ProgramState &state;
  TileScheduler &tiles;
  EventCount &events;
  /// Other workers may sleep and must be notified when an instance completes.
  bool hasOtherWorkers;
  std::atomic<bool> &stop;
  std::atomic<bool> &variablesTouched;
  /// Null if there are no other executors.
  Network *network;
  const std::vector<Injection> &injections;
  const std::function<void(const std::string &)> &onInjection;
  const std::vector<Observer *> &observers;
  /// An observer inspects results.
  bool awaitsCommands;
  MemoryRule brokenRule;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_EXECUTION_H

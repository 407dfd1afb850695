//===- Observer.h - who watches replicas execute ----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_OBSERVER_H
#define LOCKSTEP_RUNTIME_EXECUTOR_OBSERVER_H

#include "runtime/support/Status.h"

#include <cstdint>

namespace lockstep::runtime {

class ProgramState;
struct Replica;

/// Called by the interpreter when there is something to observe (trace, race
/// checker); without an observer none of this costs anything. Calls for one
/// replica come from one thread at a time, calls for different replicas may
/// come from different threads.
class Observer {
public:
  virtual ~Observer() = default;

  virtual void runBegins(const ProgramState &state) = 0;
  virtual void runEnds(const ProgramState &state) = 0;
  /// Around every command; an error ends the run.
  virtual Status commandBegins(const Replica &replica, uint32_t command) = 0;
  virtual Status commandEnds(const Replica &replica, uint32_t command) = 0;
  /// The replica's part of a start, barrier or once section is there. Called
  /// before anything happens; `last` if everybody has arrived, so that the
  /// collective or section is executed next.
  virtual Status arrives(const Replica &replica, uint32_t command,
                         bool last) = 0;
  /// The once section that the replica has executed is complete.
  virtual void sectionEnds(const Replica &replica, uint32_t channel) = 0;
  /// The replica cannot go on before the channel's instance is complete.
  virtual void blocks(const Replica &replica, uint32_t channel) = 0;
  /// The replica goes on, knowing that the channel's instance is complete.
  virtual void passes(const Replica &replica, uint32_t channel) = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_OBSERVER_H

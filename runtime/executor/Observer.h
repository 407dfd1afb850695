//===- Observer.h - observes the execution of replicas ----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_OBSERVER_H
#define LOCKSTEP_RUNTIME_EXECUTOR_OBSERVER_H

#include "runtime/support/Status.h"

#include <cstdint>

namespace lockstep::runtime {

class ProgramState;
struct Replica;

/// Called by the interpreter (traces, checkers); runs without observers have no
/// overhead. Calls for one replica come from one thread at a time, calls for
/// different replicas may be concurrent.
class Observer {
public:
  virtual ~Observer() = default;

  /// Whether it inspects what commands have computed: on a device with queues,
  /// each replica then waits for the end of each command.
  virtual bool inspectsResults() const { return true; }

  virtual void runBegins(const ProgramState &state) = 0;
  /// An error is that of the run, unless it has failed already.
  virtual Status runEnds(const ProgramState &state) = 0;
  /// Around every command; an error ends the run.
  virtual Status commandBegins(const Replica &replica, uint32_t command) = 0;
  virtual Status commandEnds(const Replica &replica, uint32_t command) = 0;
  /// The replica arrives at a start, barrier or once section. Called before its
  /// effects; `last`: all members have arrived, so that the collective or
  /// section is executed next.
  virtual Status arrives(const Replica &replica, uint32_t command,
                         bool last) = 0;
  /// The once section that the replica has executed is complete.
  virtual void sectionEnds(const Replica &replica, uint32_t channel) = 0;
  /// The replica cannot continue before the channel's instance is complete.
  virtual void blocks(const Replica &replica, uint32_t channel) = 0;
  /// The replica has seen the channel's instance complete and continues.
  virtual void passes(const Replica &replica, uint32_t channel) = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_OBSERVER_H

//===- StepTimes.h - the times of one step in a trace -----------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_STEPTIMES_H
#define LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_STEPTIMES_H

#include "tools/lockstep-inspect/TraceReader.h"

#include <map>

namespace lockstep::inspect {

/// Times of one command of a replica.
struct CommandTimes {
  /// Of one execution, and of all of a step. Absent if the trace does not show
  /// them.
  std::optional<double> seconds, step;
  /// Executions in a step. Waits of some of the replicas count in part.
  double count = 0;

  void add(double duration) {
    step = step.value_or(0) + duration;
    count += 1;
    seconds = *step / count;
  }
};

/// The times of one step.
struct StepTimes {
  /// A kind, and a command or, of waits, a channel.
  using Key = std::pair<TraceEvent::Kind, uint32_t>;

  std::map<Key, CommandTimes> commands;
  /// From the first event to the last; of the replica that has most to do, and
  /// of the one that waits longest.
  double seconds = 0, compute = 0, waits = 0;
  /// Absent if that of a collective is.
  std::optional<double> transfers;
};

/// Divides the events of one track into steps.
std::vector<TraceTrack> divideSteps(const ProgramInfo &program,
                                    const TraceTrack &track);

/// Adds up the events of all replicas, and of the link if there is one, in one
/// step.
StepTimes collectStep(const ProgramInfo &program,
                      const std::vector<ReplicaTrack> &replicas,
                      const TraceTrack &link);

} // namespace lockstep::inspect

#endif // LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_STEPTIMES_H

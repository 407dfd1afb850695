//===- SimulatedSchedule.h - when a program does what -----------*- C++ -*-===//
//
// The result of the simulator for the topology that the schedule was made for,
// by collective and by source line, and the times with other devices and links.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_SIMULATEDSCHEDULE_H
#define LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_SIMULATEDSCHEDULE_H

#include "runtime/simulator/Simulator.h"

namespace lockstep::inspect {

/// When a collective is transferred, in seconds after the start of the program.
/// Sums are over its executions, times those of the first one.
struct ExchangeTimes {
  uint64_t executions = 0;
  /// The first operand is computed.
  double firstReady = 0;
  /// The replicas have started it: the last operand is computed.
  double start = 0;
  /// The link transfers it.
  double begin = 0, end = 0;
  /// The replicas need its results; they wait from here if it has not ended.
  double needed = 0;
  /// The channel whose transfer ends when this one begins; absent if the link
  /// was free.
  std::optional<uint32_t> behind;
  /// Sums: the link is occupied; the link is occupied by others after the
  /// start; replicas wait for it; it is on the critical path.
  double transfer = 0, queued = 0, exposed = 0, critical = 0;
};

/// The kernels of one source line on the critical path.
struct CriticalLine {
  std::string location;
  double seconds = 0;
  uint64_t executions = 0;
};

/// The same program with another device or link.
struct Alternative {
  /// "kernels twice as fast", or "on 'dgx-h100'".
  std::string name;
  bool isTopology = false;
  double seconds = 0, compute = 0, communication = 0, exposed = 0;
};

struct SimulatedSchedule {
  std::string topology;
  /// The cores that execute kernels reduce, so that nothing is hidden.
  bool reducesOnCompute = false;
  /// Why the program is not simulated; if not empty, all below is.
  std::string refusal;
  runtime::SimulationResult result;
  /// Of each event, whether it is on the critical path.
  std::vector<bool> isCritical;
  /// Of each collective of the program.
  std::vector<ExchangeTimes> exchanges;
  /// In descending order of seconds.
  std::vector<CriticalLine> criticalLines;
  std::vector<Alternative> alternatives;

  bool isValid() const { return refusal.empty(); }
  /// Of `result`: those of replicas come before it.
  size_t firstLinkLane() const {
    size_t lane = 0;
    while (lane < result.lanes.size() && result.lanes[lane].replicas > 0)
      ++lane;
    return lane;
  }
};

} // namespace lockstep::inspect

#endif // LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_SIMULATEDSCHEDULE_H

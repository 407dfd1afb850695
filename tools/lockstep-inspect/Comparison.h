//===- Comparison.h - a run compared with its simulation --------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_COMPARISON_H
#define LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_COMPARISON_H

#include "tools/lockstep-inspect/StepTimes.h"

namespace lockstep::inspect {

struct ComparedCommand {
  /// "kernel", "copy", "transfer" or "wait".
  std::string kind;
  uint32_t command = 0;
  /// A kernel's symbol, "all_reduce sum channel 3", "wait channel 3".
  std::string name, line;
  CommandTimes predicted, measured;

  /// Of one step; absent if it has not been measured.
  std::optional<double> difference() const {
    if (!measured.step)
      return std::nullopt;
    return *measured.step - predicted.step.value_or(0);
  }
};

struct ComparedTotal {
  std::string name;
  double predicted = 0;
  std::optional<double> measured;
};

/// Steps of one program: the median of each time.
struct ProgramComparison {
  std::string program, topology;
  /// How many steps the trace has, and tracks: replicas, or replicas that
  /// behave alike in a simulation.
  size_t steps = 0, tracks = 0;
  bool isSimulated = false;
  /// In descending order of the absolute difference; what has not been measured
  /// is last.
  std::vector<ComparedCommand> commands;
  std::vector<ComparedTotal> totals;
};

/// Compares the programs of which the trace has steps. Errors: there is
/// none, or the simulator refuses it.
runtime::Expected<std::vector<ProgramComparison>>
compare(const Inspection &inspection, const RunTrace &trace);

/// The comparisons as tables for a terminal, and as a JSON document.
std::string toText(const std::vector<ProgramComparison> &comparisons,
                   const std::string &trace);
std::string toJson(const std::vector<ProgramComparison> &comparisons,
                   const std::string &trace);

} // namespace lockstep::inspect

#endif // LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_COMPARISON_H

//===- CollectiveTimes.h - collectives of one process -----------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_COLLECTIVETIMES_H
#define LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_COLLECTIVETIMES_H

#include "runtime/support/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::tools {

struct CollectiveTime {
  uint32_t replicas = 0;
  /// Of the operand of each replica.
  uint64_t bytes = 0;
  /// Of one all_reduce, from its start until all replicas have its result.
  double seconds = 0;
};

/// Where programs are executed.
struct Placement {
  /// See `openDevice` and `openTransport`.
  std::string device, transport;
  /// Whether each replica has an executor, and a device, of its own.
  bool isSeparate = false;
};

/// Executes all_reduces of several sizes, as compiled programs do: operands of
/// each replica, and one result for all of an executor. `stepSeconds` are those
/// of a step without commands.
runtime::Expected<std::vector<CollectiveTime>>
measureCollectives(std::span<const uint32_t> replicas, double stepSeconds,
                   const Placement &placement, double effort = 1);

/// Seconds of a step without commands of this many replicas.
runtime::Expected<double>
measureStep(uint32_t replicas, const Placement &placement, double effort = 1);

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_COLLECTIVETIMES_H

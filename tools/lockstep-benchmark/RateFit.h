//===- RateFit.h - rates that explain measured times ------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_RATEFIT_H
#define LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_RATEFIT_H

#include "runtime/model/SharedCores.h"
#include "tools/lockstep-benchmark/CollectiveTimes.h"

#include <span>

namespace lockstep::tools {

/// All launches of one kernel in a program.
struct KernelSample {
  uint64_t flops = 0, bytes = 0;
  runtime::KernelShape shape;
  double launches = 1;
  /// Of one launch on one core, measured.
  double seconds = 0;
};

/// The kernels of a step that this many replicas have executed.
struct StepSample {
  uint64_t replicas = 1;
  std::vector<KernelSample> kernels;
};

/// The rates of one core with which the cost model is nearest to the measured
/// times of kernels. The distance of a kernel is the logarithm of a ratio, so
/// that a few that are far from all others, such as a reduction that is not
/// vectorized, do not matter. Sets the rates, and the bandwidth of the cache,
/// in `machine`, which has everything else. A rate that no kernel depends on is
/// that of copies, for memory, or else meaningless. There is a kernel.
void fitRates(std::span<const StepSample> steps, runtime::Topology &machine);

/// What a collective of p replicas with operands of n bytes takes: `latency` +
/// p * `perReplica` + (p + 1) n * `perByte`, all of them at least 0.
struct CollectiveRates {
  double latency = 0, perReplica = 0, perByte = 0;

  double seconds(uint64_t replicas, uint64_t bytes) const {
    return latency + double(replicas) * perReplica +
           double(replicas + 1) * double(bytes) * perByte;
  }
};

/// A link by which the cost model of replicas with devices of their own is
/// nearest to the measured times: as in `fitRates`. There is a time that is
/// not 0.
runtime::Link fitLink(std::span<const CollectiveTime> times);

/// The rates with the least squares of relative errors.
CollectiveRates fitCollectives(std::span<const CollectiveTime> times);

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_RATEFIT_H

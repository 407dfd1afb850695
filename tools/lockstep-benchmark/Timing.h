//===- Timing.h - repeated measurements -------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_TIMING_H
#define LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_TIMING_H

#include "runtime/simulator/KernelProfile.h"
#include "runtime/support/Status.h"

#include <chrono>
#include <vector>

namespace lockstep::tools {

/// The median seconds of one call of `work`, which returns a status: it is
/// repeated for `budget` seconds, at least `least` times.
template <typename Work>
runtime::Expected<double> secondsOf(Work work, double budget,
                                    size_t least = 5) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  // The first call allocates memory.
  LOCKSTEP_RETURN_IF_ERROR(work());
  std::vector<double> times;
  for (auto begin = Clock::now();
       times.size() < least || since(begin) < budget;) {
    auto start = Clock::now();
    LOCKSTEP_RETURN_IF_ERROR(work());
    times.push_back(since(start));
  }
  return runtime::medianOf(std::move(times));
}

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_TIMING_H

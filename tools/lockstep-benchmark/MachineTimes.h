//===- MachineTimes.h - cores, cache and memory -----------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_MACHINETIMES_H
#define LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_MACHINETIMES_H

#include "runtime/support/Status.h"

#include <cstdint>
#include <string>

namespace lockstep::tools {

/// The CPUs that this process may use.
struct Machine {
  /// The name of the CPU, "unknown CPU" if the system has none.
  std::string cpu;
  unsigned cores = 1;
  /// The cache that each core has for itself.
  uint64_t cacheBytes = 0;

  static Machine here();
};

/// Bytes per second that this many cores together read and write while each
/// copies memory larger than all caches. Error: out of memory, or threads.
runtime::Expected<double> measureMemory(unsigned cores);

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_MACHINETIMES_H

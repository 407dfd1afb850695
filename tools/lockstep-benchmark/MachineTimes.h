//===- MachineTimes.h - cores, cache and memory -----------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_MACHINETIMES_H
#define LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_MACHINETIMES_H

#include "runtime/device/Device.h"
#include "runtime/support/Status.h"

#include <cstdint>
#include <string>

namespace lockstep::tools {

/// What executes kernels: the CPUs that this process may use, or a device with
/// memory of its own, which is one core for all replicas.
struct Machine {
  /// The name of the CPU or the device, "unknown CPU" if the system has none.
  std::string name;
  unsigned cores = 1;
  /// The cache that each core has for itself.
  uint64_t cacheBytes = 0;

  /// The CPUs if it is a host device.
  static Machine of(const runtime::Device &device);
};

/// Bytes per second that this many cores together read and write while each
/// copies memory larger than all caches. Error: out of memory, or threads.
runtime::Expected<double> measureMemory(unsigned cores, double effort = 1);
/// The same of a device with queues. Errors: out of memory, or the device has
/// failed.
runtime::Expected<double> measureMemory(runtime::Device &device);

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_MACHINETIMES_H

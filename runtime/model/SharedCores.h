//===- SharedCores.h - replicas that share cores ----------------*- C++ -*-===//
//
// With `Topology::reducesOnCompute`, all replicas are in one process, whose
// workers are as many as the cores. A worker executes one replica until it has
// to wait, and then the next; a worker without a runnable replica executes
// tiles of the kernels of others.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_MODEL_SHAREDCORES_H
#define LOCKSTEP_RUNTIME_MODEL_SHAREDCORES_H

#include "runtime/model/Topology.h"

namespace lockstep::runtime {

/// How a kernel is executed.
struct KernelShape {
  /// How many tiles workers may divide among themselves; 1: none.
  uint64_t tiles = 1;
  /// One replica executes it for all, in a `once` section.
  bool isOnce = false;
};

class SharedCores {
public:
  SharedCores(const Topology &topology, uint64_t replicas)
      : topology(topology), replicas(replicas) {}

  /// The cores that execute the kernel of one replica; at least 1. Several only
  /// if replicas leave some idle.
  double coresPerKernel(const KernelShape &kernel) const;

  /// The time until all replicas have executed a kernel that takes one core
  /// `seconds`, divided by `seconds`.
  double share(const KernelShape &kernel) const;

  /// The rates of one core while all replicas execute such a kernel, whose
  /// tensors have so many bytes: if they do not fit into its cache, it shares
  /// the memory with the other cores.
  ComputeRates rates(const KernelShape &kernel, uint64_t bytes) const;

private:
  /// Replicas that execute such a kernel.
  double busy(const KernelShape &kernel) const {
    return kernel.isOnce ? 1 : double(replicas);
  }

  const Topology &topology;
  uint64_t replicas;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_MODEL_SHAREDCORES_H

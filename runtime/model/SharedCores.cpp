//===- SharedCores.cpp ----------------------------------------------------===//

#include "runtime/model/SharedCores.h"

#include <algorithm>
#include <cmath>

namespace lockstep::runtime {

double SharedCores::coresPerKernel(const KernelShape &kernel) const {
  double idle = double(topology.cores) / busy(kernel);
  return std::max(1.0, std::min(double(kernel.tiles), idle));
}

double SharedCores::share(const KernelShape &kernel) const {
  double rounds = busy(kernel) / double(topology.cores);
  if (rounds < 1)
    return 1 / coresPerKernel(kernel);
  // Tiles fill the last round, in which fewer replicas than cores are left.
  return kernel.tiles > 1 ? rounds : std::ceil(rounds);
}

ComputeRates SharedCores::rates(const KernelShape &kernel,
                                uint64_t bytes) const {
  ComputeRates rates = topology.compute;
  if (bytes <= topology.cacheBytes) {
    if (topology.cacheBytesPerSecond > 0)
      rates.bytesPerSecond = topology.cacheBytesPerSecond;
    return rates;
  }
  double active =
      std::min(double(topology.cores), busy(kernel) * coresPerKernel(kernel));
  rates.bytesPerSecond =
      std::min(rates.bytesPerSecond, topology.memoryBytesPerSecond / active);
  return rates;
}

} // namespace lockstep::runtime

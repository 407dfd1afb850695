//===- KernelTiles.h - which kernels several workers execute ----*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SCHEMA_KERNELTILES_H
#define LOCKSTEP_RUNTIME_SCHEMA_KERNELTILES_H

#include "runtime/schema/artifact_generated.h"

#include <algorithm>

namespace lockstep::runtime {

/// Whether a launch takes long enough that its tiles are worth a wake-up of
/// another worker. A kernel of unknown cost is.
inline bool sharesTiles(const artifact::Kernel &kernel) {
  constexpr double worthwhileNanoseconds = 10'000;
  constexpr double flopsPerNanosecond = 16, bytesPerNanosecond = 8;
  if (kernel.grid() < 2)
    return false;
  if (kernel.flops() == 0 && kernel.bytes() == 0)
    return true;
  return std::max(double(kernel.flops()) / flopsPerNanosecond,
                  double(kernel.bytes()) / bytesPerNanosecond) >=
         worthwhileNanoseconds;
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SCHEMA_KERNELTILES_H

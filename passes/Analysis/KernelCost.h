//===- KernelCost.h - Flops and bytes of a kernel ---------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_KERNELCOST_H
#define LOCKSTEP_PASSES_ANALYSIS_KERNELCOST_H

#include "dialect/Device/DeviceDialect.h"

namespace lockstep {

/// An estimate for one launch.
struct KernelCost {
  /// Arithmetic operations; an operation of `math` counts 16.
  int64_t flops = 0;
  /// Of arguments and results, each once; dynamic ones are not counted.
  int64_t bytes = 0;
};

KernelCost estimateCost(device::KernelOp kernel);

} // namespace lockstep

#endif

//===- CostEstimate.h - Flops and bytes of a kernel -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_COSTESTIMATE_H
#define LOCKSTEP_PASSES_CODEGEN_COSTESTIMATE_H

#include "dialect/Device/DeviceDialect.h"

namespace lockstep {

/// Sets `flops` (arithmetic operations, a transcendental function counts 16)
/// and `bytes` (arguments and results, each once) of a kernel.
void estimateCost(device::KernelOp kernel);

} // namespace lockstep

#endif

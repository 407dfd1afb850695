//===- NativeKernels.h - executes kernels natively --------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_OPT_NATIVEKERNELS_H
#define LOCKSTEP_TOOLS_LOCKSTEP_OPT_NATIVEKERNELS_H

#include "tools/lockstep-opt/Execution.h"

namespace lockstep::opt {

/// Executes the native code of the kernels of a module, on the data of
/// `execute`, with each of the module's binaries that this processor can
/// execute. Kernels that take registers (dynamic sizes) are skipped.
Outcomes executeNatively(mlir::ModuleOp module, uint64_t seed);

} // namespace lockstep::opt

#endif

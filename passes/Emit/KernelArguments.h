//===- KernelArguments.h - What kernels take, in artifacts ------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_KERNELARGUMENTS_H
#define LOCKSTEP_PASSES_EMIT_KERNELARGUMENTS_H

#include "dialect/Device/DeviceDialect.h"
#include "runtime/artifact/artifact_generated.h"

#include <memory>

namespace lockstep {

/// What an artifact says about the arguments of a kernel, and the reverse.
std::unique_ptr<artifact::ArgumentsT>
emitArguments(device::ArgumentsAttr arguments);
device::ArgumentsAttr importArguments(mlir::MLIRContext *context,
                                      const artifact::Arguments &arguments);

/// The constant that the code of a kernel has, by which the runtime sees that
/// it is the code of this kernel.
uint64_t getArgumentsCode(device::KernelOp kernel);

} // namespace lockstep

#endif

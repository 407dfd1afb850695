//===- ArgumentTables.h - Arguments of kernels in artifacts -----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_ARGUMENTTABLES_H
#define LOCKSTEP_PASSES_EMIT_ARGUMENTTABLES_H

#include "dialect/Device/DeviceDialect.h"
#include "runtime/schema/artifact_generated.h"

#include <memory>

namespace lockstep {

/// Converts the description of a kernel's arguments to that of an artifact, and
/// back.
std::unique_ptr<artifact::ArgumentsT>
emitArguments(device::ArgumentsAttr arguments);
device::ArgumentsAttr importArguments(mlir::MLIRContext *context,
                                      const artifact::Arguments &arguments);

/// The constant in the code of a kernel by which the runtime checks that the
/// code matches the description of its arguments.
uint64_t getArgumentsCode(device::KernelOp kernel);

} // namespace lockstep

#endif

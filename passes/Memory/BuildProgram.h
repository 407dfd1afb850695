//===- BuildProgram.h - Convert a planned step to a program -----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_BUILDPROGRAM_H
#define LOCKSTEP_PASSES_MEMORY_BUILDPROGRAM_H

#include "passes/Memory/Placement.h"

namespace lockstep {

/// Replaces `step`, a function on tensors, by an equivalent `device.program` on
/// the memory that has been planned for it. `plan` has the storage of each
/// value with its offset, `placement` the sizes of the arenas, and `layout` the
/// addresses of variables, inputs, scalars and constants. Fails, with an error
/// at the operation, if an operation of `step` cannot be converted.
llvm::FailureOr<device::ProgramOp>
buildProgram(mlir::func::FuncOp step, const StoragePlan &plan,
             const PlacementResult &placement, const StepLayout &layout,
             int64_t replicas);

} // namespace lockstep

#endif

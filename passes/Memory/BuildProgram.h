//===- BuildProgram.h - Convert a planned step to a program -----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_BUILDPROGRAM_H
#define LOCKSTEP_PASSES_MEMORY_BUILDPROGRAM_H

#include "passes/Memory/Placement.h"

namespace lockstep {

/// Replaces `step` by an equivalent `device.program` on the storages of `plan`.
llvm::FailureOr<device::ProgramOp>
buildProgram(mlir::func::FuncOp step, const StoragePlan &plan,
             const PlacementResult &placement, const StepLayout &layout,
             int64_t replicas);

} // namespace lockstep

#endif

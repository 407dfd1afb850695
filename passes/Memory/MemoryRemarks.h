//===- MemoryRemarks.h - Remarks about the memory plan ----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_MEMORYREMARKS_H
#define LOCKSTEP_PASSES_MEMORY_MEMORYREMARKS_H

#include "passes/Memory/Placement.h"

namespace lockstep {

/// Explains the plan of a step, before it becomes a program.
void explainMemory(mlir::func::FuncOp step, const StoragePlan &plan,
                   const PlacementResult &placement, int64_t replicas);

/// Explains the sections of a program that one replica executes for all.
void explainOnce(device::ProgramOp program, int64_t replicas);

} // namespace lockstep

#endif

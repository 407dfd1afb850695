//===- EmitThreads.h - Code of the threads of a phase -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_EMITTHREADS_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_EMITTHREADS_H

#include "passes/Codegen/Gpu/Phases.h"

namespace lockstep {

/// Replaces the operations on memory in `function`, which has nothing but those
/// of `phase` and what all phases repeat, by the code of one thread. All
/// results are the same in every run: a reduction is executed in order by one
/// thread, or its partial results are combined in a fixed tree by those of a
/// block.
void emitThreads(mlir::func::FuncOp function, const Phase &phase);

/// The same for a phase that is a nest of updates.
void emitUpdates(mlir::func::FuncOp function, const Phase &phase);

} // namespace lockstep

#endif

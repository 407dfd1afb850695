//===- MergePhases.h - Phases that one launch executes ----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_MERGEPHASES_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_MERGEPHASES_H

#include "passes/Codegen/Gpu/Phases.h"

namespace lockstep {

/// Divides phases among launches, in an order in which each launch sees what
/// earlier ones have written. Phases of few blocks, which take no longer than
/// a launch, share one if none of them accesses memory that another one of them
/// writes; they get blocks of the same number of threads. Returns the numbers
/// of the phases of each launch.
std::vector<llvm::SmallVector<size_t>>
divideAmongLaunches(mlir::func::FuncOp function, std::vector<Phase> &phases);

/// The code of a phase.
struct PhaseCode {
  mlir::func::FuncOp function;
  int64_t blocks = 1;

  /// The bytes of the memory that the threads of a block share.
  int64_t countSharedBytes();
};

/// Makes one function of those of several phases: the first blocks execute the
/// first phase, those behind them the next one. It replaces these functions,
/// and has the name and the attributes of the first one.
mlir::func::FuncOp mergePhases(llvm::ArrayRef<PhaseCode> phases);

} // namespace lockstep

#endif

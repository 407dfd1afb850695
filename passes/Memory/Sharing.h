//===- Sharing.h - Values shared by the replicas of a process ---*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_SHARING_H
#define LOCKSTEP_PASSES_MEMORY_SHARING_H

#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Memory/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace lockstep {

struct Sharing {
  /// Kernel invocations that one replica executes for all.
  llvm::DenseSet<mlir::Operation *> once;
  /// Values that the replicas of a process store once.
  llvm::DenseSet<mlir::Value> values;
};

/// An invocation with uniform results is executed once per process if it reads
/// values that are stored once (results of collectives or of other such
/// invocations), or computes the new value of a variable. For all others,
/// repeating them is cheaper than synchronizing the replicas. With a single
/// replica nothing is shared.
Sharing findSharing(mlir::func::FuncOp step, int64_t replicas,
                    const UniformityAnalysis &uniformity,
                    const ModuleLayout &layout);

} // namespace lockstep

#endif

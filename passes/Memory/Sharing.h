//===- Sharing.h - What a process stores and computes once ------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_SHARING_H
#define LOCKSTEP_PASSES_MEMORY_SHARING_H

#include "passes/Analysis/Uniformity.h"
#include "passes/Memory/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace lockstep {

struct Sharing {
  /// Kernel invocations that one replica executes for all.
  llvm::DenseSet<mlir::Operation *> once;
  /// Values of which the replicas of a process have one.
  llvm::DenseSet<mlir::Value> values;
};

/// An invocation with uniform results is executed once a process if it works on
/// values that are stored once (results of collectives or of other such work),
/// or gives a variable its new value. Everything else is cheaper to repeat than
/// to meet for. Of a single replica nothing is shared.
Sharing findSharing(mlir::func::FuncOp step, int64_t replicas,
                    const UniformityAnalysis &uniformity,
                    const ModuleLayout &layout);

} // namespace lockstep

#endif

//===- ControlSlice.h - Slices that keep the control flow -------*- C++ -*-===//
//
// The paths that replicas take through a step, and the collectives in which
// they take part, mostly depend on few of its values. A slice is a copy of the
// step in which all other values are zeros, and operations that only compute
// those are erased: it deadlocks on the same inputs as the step, and is cheap
// to execute.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_CONTROLSLICE_H
#define LOCKSTEP_PASSES_VERIFY_CONTROLSLICE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"

namespace lockstep {

/// A module with a copy of one step, program or function in collective form,
/// and of the symbols that it refers to.
struct ControlSlice {
  /// A slice of `function` for `replicas` replicas. The operands `criteria`
  /// (slicing criteria) have the same values as in `function`.
  ControlSlice(mlir::FunctionOpInterface function, int64_t replicas,
               llvm::ArrayRef<mlir::OpOperand *> criteria);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::FunctionOpInterface function;
  /// The operation of the original function of each copy. Copies may have been
  /// erased.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> originals;
};

} // namespace lockstep

#endif

//===- ControlSlice.h - What decides how replicas go ------------*- C++ -*-===//
//
// Which way replicas go through a step, and with whom they meet on it, mostly
// follows from few of its values. A slice is a copy of the step in which all
// others are zeros, and what is computed for them only is gone: it blocks on
// the same inputs as the step, and costs little to execute.
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
/// and what it refers to.
struct ControlSlice {
  /// Of `function`, for `replicas` of them. The values of the operands `asked`
  /// are what they are in `function` too.
  ControlSlice(mlir::FunctionOpInterface function, int64_t replicas,
               llvm::ArrayRef<mlir::OpOperand *> asked);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::FunctionOpInterface function;
  /// Operations of the copied function, by their copies. The copies may be
  /// gone.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> originals;
};

} // namespace lockstep

#endif

//===- Aliases.h - Alias analysis of the buffers of a kernel ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_ALIASES_H
#define LOCKSTEP_PASSES_CODEGEN_ALIASES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep {

/// Alias analysis: the buffers of a kernel are disjoint, except for a result
/// that may be computed in place in an argument's memory.
class Aliases {
public:
  explicit Aliases(mlir::func::FuncOp function);

  bool mayAlias(mlir::Value a, mlir::Value b) const;
  /// True if `op`, or an operation in it, may read or write the buffer of
  /// `view`.
  bool mayTouch(mlir::Operation *op, mlir::Value view) const;
  /// True if the views have the same elements, in the same order.
  bool areSame(mlir::Value a, mlir::Value b) const;
  /// True if the view has all elements of its buffer in the same order.
  bool isWholeBuffer(mlir::Value view) const;

private:
  /// The buffer of a view; for a result in place, the argument. Null if the
  /// buffer is selected at run time, by a select, branch or loop.
  mlir::Value getRoot(mlir::Value view) const;

  llvm::DenseMap<mlir::Value, mlir::Value> inPlace;
};

/// Whether `op` may be executed at any place between the writes of the kernel
/// around it: it writes no memory, and reads none that the kernel writes.
bool isTransparent(mlir::Operation *op, const Aliases &aliases);

} // namespace lockstep

#endif

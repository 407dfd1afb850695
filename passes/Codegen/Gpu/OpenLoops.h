//===- OpenLoops.h - The loops of an operation in a thread ------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_OPENLOOPS_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_OPENLOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lockstep {

/// The dimensions of an operation while code for its loops is emitted.
struct OpenLoops {
  /// The loops of `op` within those of `outerDims`, which have the values
  /// `outer`. Sizes are computed where `builder` stands. Loops of one iteration
  /// are not open, and need not be among the outer ones.
  OpenLoops(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
            llvm::ArrayRef<unsigned> outerDims,
            llvm::ArrayRef<mlir::Value> outer);

  llvm::SmallVector<mlir::OpFoldResult>
  sizesOf(llvm::ArrayRef<unsigned> which) const;

  /// Whether all reduction loops have the same elements as results, so that
  /// these can be in registers.
  bool keepResults(mlir::linalg::GenericOp op) const;

  llvm::SmallVector<mlir::Range> ranges;
  /// The loops that are not among the outer ones.
  llvm::SmallVector<unsigned> parallel, reduction;
  /// The values of the dimensions whose loops are open.
  llvm::SmallVector<mlir::Value> dims;
};

} // namespace lockstep

#endif

//===- DynamicSizes.h - Values and bounds of dynamic sizes ------*- C++ -*-===//
//
// The memory planner allocates every tensor at compile time, so a dynamic size
// needs two things: an SSA value of the step for the size at run time, and an
// upper bound for the allocation.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_KERNELS_DYNAMICSIZES_H
#define LOCKSTEP_PASSES_KERNELS_DYNAMICSIZES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace lockstep {

/// One dynamic dimension of a tensor of a step.
struct DynamicSize {
  /// Of type `index`: a constant, or an integer that the step loads from
  /// memory into a register.
  mlir::Value value;
  /// An upper bound; 0 if none is known.
  int64_t bound = 0;
};

/// The sizes of all tensors of one step whose shapes are not static.
class DynamicSizes {
public:
  /// Finds the sizes of all values of `step`. A computed size is stored in
  /// memory and loaded again; `tensor.dim` is replaced by the size itself.
  /// Emits an error if a size or its bound is not known.
  static llvm::FailureOr<DynamicSizes> find(mlir::func::FuncOp step);

  /// The dynamic dimensions of `tensor`, in order; none for a static shape.
  llvm::ArrayRef<DynamicSize> of(mlir::Value tensor) const;

  /// Records that `copy` has the shape of `tensor`.
  void copy(mlir::Value tensor, mlir::Value copy);

  /// Whether `value` is the size of a tensor, which is kept in a register.
  bool isSize(mlir::Value value) const { return sizeValues.contains(value); }
  /// Whether `op` is part of loading a size: it has to stay in the step.
  bool loadsSize(mlir::Operation *op) const { return sizeOps.contains(op); }

private:
  explicit DynamicSizes(mlir::func::FuncOp step) : builder(step.getContext()) {}

  void findArgumentBounds(mlir::func::FuncOp step);
  llvm::LogicalResult findAll(mlir::Block &block);
  llvm::LogicalResult findSizes(mlir::OpResult tensor);
  DynamicSize findSize(mlir::OpResult tensor, unsigned dimension);
  DynamicSize findSliceSize(mlir::tensor::ExtractSliceOp slice,
                            unsigned dimension);
  DynamicSize findCastSize(mlir::tensor::CastOp cast, unsigned dimension);
  DynamicSize findExpandedSize(mlir::tensor::ExpandShapeOp expand,
                               unsigned dimension);
  DynamicSize findCollapsedSize(mlir::tensor::CollapseShapeOp collapse,
                                unsigned dimension);
  int64_t boundByLoops(mlir::OpResult tensor, unsigned dimension);
  /// The size of a dynamic dimension; a null value if it has not been found.
  DynamicSize sizeOf(mlir::Value tensor, unsigned dimension);
  /// An upper bound of a static or dynamic dimension; 0 if none is known.
  int64_t boundOf(mlir::Value tensor, unsigned dimension);
  void replaceDim(mlir::tensor::DimOp dim);
  llvm::LogicalResult padResults(mlir::scf::IfOp branch);
  /// The same index in a form that can be put into a register.
  mlir::Value store(mlir::Value index);

  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<DynamicSize, 1>> sizes;
  /// Bounds of arguments that are the sizes of batches.
  llvm::DenseMap<mlir::Value, int64_t> argumentBounds;
  /// Bounds of index values that are sizes of tensors.
  llvm::DenseMap<mlir::Value, int64_t> bounds;
  llvm::DenseMap<mlir::Value, mlir::Value> stored;
  llvm::DenseSet<mlir::Operation *> sizeOps;
  llvm::DenseSet<mlir::Value> sizeValues;
};

} // namespace lockstep

#endif

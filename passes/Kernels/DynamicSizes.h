//===- DynamicSizes.h - Sizes that are known only at run time ---*- C++ -*-===//
//
// The memory planner gives every tensor a place before the program runs, so a
// size that is known only then needs two things: a value of the step that says
// what it is, and a bound that says how much memory it can ask for.
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
  /// memory, so that it can be put into a register.
  mlir::Value value;
  /// The most that it can be; 0 if that is not known.
  int64_t bound = 0;
};

/// The sizes of all tensors of one step whose shapes are not static.
class DynamicSizes {
public:
  /// Finds the sizes of all values of `step`. What is computed for the sake of
  /// a size is stored and loaded again; `tensor.dim` gives way to the size
  /// itself. Emits an error where a size or its bound cannot be told.
  static llvm::FailureOr<DynamicSizes> find(mlir::func::FuncOp step);

  /// The dynamic dimensions of `tensor`, in order; none for a static shape.
  llvm::ArrayRef<DynamicSize> of(mlir::Value tensor) const;

  /// Says that `copy` has the shape of `tensor`.
  void copy(mlir::Value tensor, mlir::Value copy);

  /// Whether `value` is the size of a tensor, as it is put into a register.
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
  /// The size of a dynamic dimension; nothing if it has not been found.
  DynamicSize sizeOf(mlir::Value tensor, unsigned dimension);
  /// The most that any dimension can be; 0 if that is not known.
  int64_t boundOf(mlir::Value tensor, unsigned dimension);
  void replaceDim(mlir::tensor::DimOp dim);
  llvm::LogicalResult padResults(mlir::scf::IfOp branch);
  /// The same index in a form that can be put into a register.
  mlir::Value store(mlir::Value index);

  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<DynamicSize, 1>> sizes;
  /// Arguments that are the sizes of batches.
  llvm::DenseMap<mlir::Value, int64_t> argumentBounds;
  /// Indices with which something of a known size was sliced.
  llvm::DenseMap<mlir::Value, int64_t> bounds;
  llvm::DenseMap<mlir::Value, mlir::Value> stored;
  llvm::DenseSet<mlir::Operation *> sizeOps;
  llvm::DenseSet<mlir::Value> sizeValues;
};

} // namespace lockstep

#endif

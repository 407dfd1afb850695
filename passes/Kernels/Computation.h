//===- Computation.h - Operations that are repeated -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_COMPUTATION_H
#define LOCKSTEP_PASSES_KERNELS_COMPUTATION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace lockstep {

/// Tensors with so many times fewer elements than others are not counted.
inline constexpr int64_t kMuchSmaller = 16;

/// The type of a tensor of static shape, or null.
mlir::RankedTensorType getStaticType(mlir::Value value);

/// The tensor that `value` is, or views by reshapes.
mlir::Value getViewed(mlir::Value value);

/// The computation of values of a block from others that are in memory, by
/// element-wise operations.
struct Computation {
  /// The results that are needed of these operations.
  llvm::MapVector<mlir::linalg::GenericOp, llvm::SetVector<mlir::Value>>
      results;
  /// What these operations read, and the operations in their bodies that are
  /// needed.
  llvm::SetVector<mlir::Value> sources;
  llvm::SetVector<mlir::Operation *> inner;
  /// About how many a GPU executes for an element.
  int64_t instructions = 0;

  /// In program order.
  llvm::SmallVector<mlir::linalg::GenericOp> getOps() const;

  /// Adds what computes `value`, from tensors that are much smaller or for
  /// which `isStored` holds; false if that cannot be repeated.
  bool add(mlir::Value value, llvm::function_ref<bool(mlir::Value)> isStored);
};

/// A copy of an operation of a computation that has only these results. It
/// reads what `copied` has for its operands, if it has any.
mlir::linalg::GenericOp copyResults(mlir::RewriterBase &rewriter,
                                    mlir::Location loc,
                                    mlir::linalg::GenericOp op,
                                    llvm::ArrayRef<mlir::Value> results,
                                    const mlir::IRMapping &copied);

} // namespace lockstep

#endif

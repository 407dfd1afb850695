//===- Grouping.h - Which operations share a kernel -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_GROUPING_H
#define LOCKSTEP_PASSES_KERNELS_GROUPING_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace lockstep {

/// What becomes of an operation of a step when kernels are formed.
enum class OpClass {
  /// Repeated in every kernel that uses it: constants, reshapes, scalar
  /// arithmetic, fills.
  Glue,
  /// Becomes part of a kernel.
  Compute,
  /// Stays in the step: collectives, control flow around them, the terminator.
  Step,
};

OpClass classify(mlir::Operation *op);

/// Loops and branches of the kinds that kernels and steps may hold.
bool isControlFlow(mlir::Operation *op);

/// Whether loops or branches `op` stay in the step: they hold collectives,
/// products, or other things worth a kernel of their own.
bool isStepControlFlow(mlir::Operation *op);

/// A partition of one block. Nodes are kernels (several compute operations) or
/// single step operations; the order of `nodes` is a valid order of execution.
struct Grouping {
  struct Node {
    std::vector<mlir::Operation *> ops;
    bool isKernel = false;
  };
  std::vector<Node> nodes;
};

/// What the grouping has to know of a step.
struct GroupingHooks {
  /// Which values are equal on all replicas; they are never in one kernel with
  /// others.
  llvm::function_ref<bool(mlir::Value)> isUniform;
  /// Which glue the step needs itself, beside what feeds its operations.
  llvm::function_ref<bool(mlir::Operation *)> stays;
  /// What overwrites a variable in the end: it waits until others, who may read
  /// the old value, have been.
  llvm::function_ref<bool(mlir::Operation *)> comesLate;
};

/// Partitions `block`. Without `fuse`, each compute operation is alone (with
/// the glue it needs).
Grouping groupOperations(mlir::Block &block, bool fuse,
                         const GroupingHooks &hooks);

} // namespace lockstep

#endif

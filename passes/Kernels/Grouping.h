//===- Grouping.h - Which operations share a kernel -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_GROUPING_H
#define LOCKSTEP_PASSES_KERNELS_GROUPING_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace lockstep {

/// How an operation of a step is treated when kernels are formed.
enum class OpClass {
  /// Repeated in every kernel that uses it: constants, reshapes, scalar
  /// arithmetic, fills.
  Glue,
  /// Becomes part of a kernel.
  Compute,
  /// Stays in the step: collectives, control flow around them, views of what
  /// one collective has gathered, the terminator.
  Step,
};

OpClass classify(mlir::Operation *op);

/// Whether `op` stays in program order: collectives, and loads of batches.
bool isOrdered(mlir::Operation *op);

/// Loops and branches of the kinds that kernels and steps may contain.
bool isControlFlow(mlir::Operation *op);

/// Whether `op` is a loop or branch that stays in the step, because it contains
/// collectives or products, or because one execution of its body computes a
/// million elements or more, which are divided among workers then.
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

/// Properties of a step that the grouping depends on.
struct GroupingHooks {
  /// Whether a value is equal on all replicas; such values and others are never
  /// computed in one kernel.
  llvm::function_ref<bool(mlir::Value)> isUniform;
  /// Whether glue has to stay in the step, even if it does not feed its
  /// operations.
  llvm::function_ref<bool(mlir::Operation *)> mustStay;
  /// Whether an operation computes the new value of a variable: it is scheduled
  /// late, after other operations, which may read the old value.
  llvm::function_ref<bool(mlir::Operation *)> isScheduledLate;
};

struct GroupingOptions {
  /// If not, each compute operation is alone (with the glue it needs).
  bool fuse = true;
  /// A library computes products: what follows one is not executed while its
  /// results are in registers, but for a bias.
  bool libraryProducts = false;
  /// A library computes convolutions, in the same manner.
  bool libraryConvolutions = false;
  /// These libraries also apply activations.
  bool libraryActivations = false;
  /// They multiply factors of f32 on tensor cores.
  bool tf32 = false;
  /// Launches take longer than updates of small variables: these share kernels.
  bool mergeUpdates = false;
  /// The kernel that pads a tensor also computes it, if nothing else reads it,
  /// and writes it into the larger tensor. Not on processors: only one worker
  /// executes a padding kernel, and that worker would compute the whole tensor.
  bool mergePadding = false;
  /// Kernels compute again what another one would have to store for them, if
  /// that takes a GPU less time.
  bool recompute = false;
};

Grouping groupOperations(mlir::Block &block, const GroupingOptions &options,
                         const GroupingHooks &hooks);

} // namespace lockstep

#endif

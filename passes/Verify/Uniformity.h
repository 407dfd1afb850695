//===- Uniformity.h - Which values are equal on all replicas ----*- C++ -*-===//
//
// One analysis answers, for every value of a step, whether all replicas hold the same value (uniform) or may hold different
// ones (varying). The verifier proves the order of collectives with it, the compiler stores and computes uniform values once
// a process.
//
// MLIR's sparse data-flow framework joins operands and knows nothing of control dependence, so this is a worklist of its own:
// it starts at the sources of varying values and follows uses, through regions, loops and conditions. Each value is marked at
// most once, hence the time is linear in uses times the depth of nesting.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_UNIFORMITY_H
#define LOCKSTEP_PASSES_VERIFY_UNIFORMITY_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>

namespace mlir {
class PostDominanceInfo;
} // namespace mlir

namespace lockstep {

/// Why a value may differ between replicas.
enum class VaryingBy {
  /// The operation `op` makes different values on each replica: a replica id, an on_read variable, a call.
  Source,
  /// An argument of the step `op` that each replica gets for itself.
  Argument,
  /// The operation `op` computed the value from the varying value `from`, or forwarded it.
  Operand,
  /// The operation `op` is a branch or loop that is decided by the varying value `from`; the value is its result, or is
  /// defined inside.
  Control,
  /// The value is read from a variable to which the operation `op` assigned the varying value `from`, or which it assigned
  /// under control flow decided by `from`.
  Variable,
};

/// The last step of the way by which a value became varying.
struct Reason {
  VaryingBy kind;
  /// The operation that took the step.
  mlir::Operation *op = nullptr;
  /// The varying value that it started from; null for `Source` and `Argument`.
  mlir::Value from;
};

/// A branch or loop that replicas may go through differently, and the value that decides it.
struct Divergence {
  /// The branch or loop: an operation with regions, or a terminator with successors.
  mlir::Operation *branch = nullptr;
  /// The varying condition, bound or step.
  mlir::Value condition;

  explicit operator bool() const { return branch != nullptr; }
};

/// Uniformity of all values in the steps (`replica.step`) and functions (`func.func` in collective form) at or below an
/// operation. Results say what was true of the IR when the analysis was constructed; values created later, and values inside of
/// `device.kernel`, are unknown to it and must not be asked for.
///
/// Arguments are varying unless they carry `replica.scalar`, or a `#device.binding` to a scalar or a variable that is
/// synchronized on write. A value that is defined inside of a branch or loop that replicas may go through differently is
/// varying: not all replicas have it.
class UniformityAnalysis {
public:
  explicit UniformityAnalysis(mlir::Operation *root);
  ~UniformityAnalysis();
  UniformityAnalysis(UniformityAnalysis &&);

  /// True if all replicas have the value, and it is equal on all of them.
  bool isUniform(mlir::Value value) const;

  /// True if the value is equal on those replicas that have it. Weaker than `isUniform` inside of branches and loops that
  /// replicas may go through differently: a constant there is equal for those that come by.
  bool isEqualWhereDefined(mlir::Value value) const { return !reasons.contains(value); }

  /// Why the value is not uniform; nullopt if it is.
  std::optional<Reason> getReason(mlir::Value value) const;

  /// The way from a varying value back to its source: the reason of `value`, then that of the value it came from, and so on.
  /// Empty for a uniform value.
  llvm::SmallVector<std::pair<mlir::Value, Reason>> explain(mlir::Value value) const;

  /// The outermost branch or loop around `op` (not `op` itself) that replicas may go through differently; false if all
  /// replicas execute `op` equally often.
  Divergence getDivergenceAround(mlir::Operation *op) const;

  /// The varying value that decides `branch`, a branch or loop; null if replicas go through it alike.
  mlir::Value getVaryingCondition(mlir::Operation *branch) const { return divergent.lookup(branch); }

  /// The branch because of which replicas may not all come through `block`, which is one of several of its region.
  Divergence getDivergenceOf(mlir::Block *block) const { return divergentBlocks.lookup(block); }

private:
  void addSources(mlir::Operation *root);
  void addArguments(mlir::Operation *function);
  void addSource(mlir::Operation *op);
  void mark(mlir::Value value, Reason reason);
  void markAll(mlir::ValueRange values, Reason reason);
  void propagate();
  void visitUse(mlir::OpOperand &use);
  void visitOpaqueParents(mlir::OpOperand &use);
  void visitOperation(mlir::OpOperand &use);
  void visitYield(mlir::OpOperand &use);
  /// Does nothing for other operations than assignments.
  void visitAssignment(mlir::Operation *assignment, mlir::Value from);
  void visitRegionBranch(mlir::OpOperand &use, mlir::Operation *branch);
  void visitBlockBranch(mlir::OpOperand &use);
  void diverge(mlir::Operation *branch, mlir::Value condition);
  void divergeBlocks(mlir::Operation *terminator, mlir::Value condition);
  void markInside(mlir::Operation *op, Reason reason);
  void markVariable(mlir::StringAttr name, Reason reason);

  /// Varying values, with the first reason found for each.
  llvm::DenseMap<mlir::Value, Reason> reasons;
  /// Branches and loops that a varying value decides, and the value.
  llvm::DenseMap<mlir::Operation *, mlir::Value> divergent;
  /// Blocks of unstructured control flow that not all replicas come through.
  llvm::DenseMap<mlir::Block *, Divergence> divergentBlocks;
  /// Reads of variables whose copies must be equal, by the name of the variable.
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Value>> reads;
  llvm::DenseSet<mlir::StringAttr> varyingVariables;
  /// First in, first out: the first reason found is the shortest way to a source, which makes the best explanation.
  std::vector<mlir::Value> worklist;
  std::unique_ptr<mlir::PostDominanceInfo> postDominance;
};

} // namespace lockstep

#endif

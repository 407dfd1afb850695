//===- Uniformity.h - Which values are equal on all replicas ----*- C++ -*-===//
//
// One analysis answers, for every value of a step, whether all replicas hold
// the same value (uniform), or which of them may hold different ones: a
// partition of the ranks (Partition.h), mostly "any two may differ" (varying),
// sometimes "equal within each group". The verifier proves the order of
// collectives with it, the compiler stores and computes uniform values once a
// process.
//
// MLIR's sparse data-flow framework joins operands and knows nothing of control
// dependence, so this is a worklist of its own: it starts at the sources of
// varying values and follows uses, through regions, loops and conditions. A
// value is followed again only when its classes become smaller, so the time is
// linear in uses times the depth of nesting, times the few partitions that a
// program with groups has. What follows from the number of a rank alone is
// known exactly (RankConstants.h).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_UNIFORMITY_H
#define LOCKSTEP_PASSES_ANALYSIS_UNIFORMITY_H

#include "passes/Analysis/Partition.h"
#include "passes/Analysis/RankConstants.h"
#include "passes/Analysis/Rules.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Value.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>

namespace mlir {
class PostDominanceInfo;
} // namespace mlir

namespace lockstep {

/// Why a value may differ between replicas.
enum class VaryingBy {
  /// The operation `op` makes different values on each replica: a replica id,
  /// an on_read variable, a call.
  Source,
  /// An argument of the step `op` that each replica gets for itself.
  Argument,
  /// The operation `op` computed the value from the varying value `from`, or
  /// forwarded it.
  Operand,
  /// The operation `op` is a branch or loop that is decided by the varying
  /// value `from`; the value is its result, or is
  /// defined inside.
  Control,
  /// The value is read from a variable to which the operation `op` assigned the
  /// varying value `from`, or which it assigned
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

/// A branch or loop that replicas may go through differently, and the value
/// that decides it.
struct Divergence {
  /// The branch or loop: an operation with regions, or a terminator with
  /// successors.
  mlir::Operation *branch = nullptr;
  /// The varying condition, bound or step.
  mlir::Value condition;
  /// Ranks of one class go the same way.
  PartitionId partition = PartitionTable::kWhole;
  /// Of a terminator: the first block that all come through again; null if
  /// there is none.
  mlir::Block *join = nullptr;

  explicit operator bool() const { return branch != nullptr; }
};

/// Uniformity of all values in the steps (`replica.step`) and functions
/// (`func.func` in collective form) at or below an operation. Results say what
/// was true of the IR when the analysis was constructed; values created later,
/// and values inside of `device.kernel`, are unknown to it and must not be
/// asked for.
///
/// Arguments are varying unless they carry `replica.scalar`, or a
/// `#device.binding` to a scalar or a variable that is synchronized on write. A
/// value that is defined inside of a branch or loop that replicas may go
/// through differently is varying: not all replicas have it.
class UniformityAnalysis {
public:
  explicit UniformityAnalysis(mlir::Operation *root,
                              BrokenRule broken = BrokenRule::None);
  ~UniformityAnalysis();
  UniformityAnalysis(UniformityAnalysis &&);

  /// True if all replicas have the value, and it is equal on all of them.
  bool isUniform(mlir::Value value) const;

  /// True if the value is equal on those replicas that have it. Weaker than
  /// `isUniform` inside of branches and loops that replicas may go through
  /// differently: a constant there is equal for those that come by.
  bool isEqualWhereDefined(mlir::Value value) const {
    return getPartition(value) == PartitionTable::kWhole;
  }

  /// Which replicas have equal values, of those that have the value.
  PartitionId getPartition(mlir::Value value) const;

  /// The steps by which a value became what it is, back to a source: the reason
  /// of `value`, then that of the value it came from, and so on. Where there
  /// are several, those that let the `ranks` differ. Empty for a uniform value.
  llvm::SmallVector<std::pair<mlir::Value, Reason>>
  explain(mlir::Value value,
          std::optional<RankPair> ranks = std::nullopt) const;

  /// The outermost branch or loop around `op` (not `op` itself) that replicas
  /// may go through differently; false if all replicas execute `op` equally
  /// often.
  Divergence getDivergenceAround(mlir::Operation *op) const;

  /// Calls `visit` for the operations inside of `op`, each before those in it;
  /// without those that constants keep all replicas from.
  void walkEntered(mlir::Operation *op,
                   llvm::function_ref<void(mlir::Operation *)> visit) const;

  /// How replicas go through `branch`, a branch or loop; false if all of them
  /// go through it alike.
  Divergence getDivergence(mlir::Operation *branch) const {
    return divergent.lookup(branch);
  }

  /// The varying value that decides `branch`, a branch or loop; null if
  /// replicas go through it alike.
  mlir::Value getVaryingCondition(mlir::Operation *branch) const {
    return getDivergence(branch).condition;
  }

  /// The branches because of which replicas may not all come through `block`,
  /// which is one of several of its region. If there are `kMostDivergences`,
  /// there may be more.
  llvm::ArrayRef<Divergence> getDivergencesOf(mlir::Block *block) const;

  /// Branches that are noted for one block: with all of them, many early exits
  /// in a row would take quadratic time.
  static constexpr unsigned kMostDivergences = 16;

  /// The members of the group of a collective among the replicas; nullopt for
  /// all of them, however many there are.
  std::optional<llvm::BitVector> getMembers(mlir::Operation *collective) const;

  /// Finds the symbols that the IR had when the analysis was constructed.
  mlir::SymbolTableCollection &getSymbols() const { return *symbols; }

  const PartitionTable &getPartitions() const { return partitions; }
  const RankConstants &getConstants() const { return constants; }

  BrokenRule getBrokenRule() const { return broken; }
  bool isBroken(BrokenRule rule) const { return rule == broken; }

private:
  void addSources(mlir::Operation *root);
  void addArguments(mlir::Operation *function);
  /// True if each replica gets the same value for argument `index` of
  /// `function`.
  bool isUniformArgument(mlir::FunctionOpInterface function, unsigned index);
  void addSource(mlir::Operation *op);
  void addGroupResult(mlir::Operation *wait);
  void mark(mlir::Value value, Reason reason, PartitionId partition);
  void markAll(mlir::ValueRange values, Reason reason, PartitionId partition);
  void propagate();
  void visitUse(mlir::OpOperand &use, PartitionId partition);
  void visitOpaqueParents(mlir::OpOperand &use, PartitionId partition);
  void visitOperation(mlir::OpOperand &use, PartitionId partition);
  void visitYield(mlir::OpOperand &use, PartitionId partition);
  /// False if constants keep all replicas from `op`.
  bool isEntered(mlir::Operation *op) const;
  /// Does nothing for other operations than assignments, and those that no
  /// replica comes to.
  void visitAssignment(mlir::Operation *assignment, mlir::Value from,
                       PartitionId partition);
  void visitRegionBranch(mlir::OpOperand &use, mlir::Operation *branch,
                         PartitionId partition);
  void visitBounds(mlir::OpOperand &use, PartitionId partition);
  void visitBlockBranch(mlir::OpOperand &use, PartitionId partition);
  /// Makes the classes of `branch` smaller; false if they are so already.
  bool addDivergence(mlir::Operation *branch, mlir::Value condition,
                     PartitionId partition);
  void diverge(mlir::Operation *branch, mlir::Value condition,
               PartitionId partition);
  void divergeBlocks(mlir::Operation *terminator, mlir::Value condition,
                     PartitionId partition);
  void markInside(mlir::Operation *op, Reason reason, PartitionId partition);
  void markVariable(mlir::StringAttr name, Reason reason,
                    PartitionId partition);

  static constexpr uint32_t kNoStep = ~0u;

  /// A value's classes became smaller.
  struct Step {
    Reason reason;
    PartitionId partition;
    /// The value's next step.
    uint32_t next = kNoStep;
  };
  /// What is known of a value that is not uniform.
  struct Fact {
    PartitionId partition = PartitionTable::kWhole;
    /// From the constants of the ranks: not to become smaller.
    bool isExact = false;
    uint32_t firstStep = kNoStep, lastStep = kNoStep;
  };

  BrokenRule broken;
  /// On the heap: it cannot be moved.
  std::unique_ptr<mlir::SymbolTableCollection> symbols =
      std::make_unique<mlir::SymbolTableCollection>();
  mutable PartitionTable partitions;
  RankConstants constants;
  llvm::DenseMap<mlir::Value, Fact> facts;
  std::vector<Step> steps;
  /// Branches and loops that a varying value decides.
  llvm::DenseMap<mlir::Operation *, Divergence> divergent;
  /// Blocks of unstructured control flow that not all replicas come through.
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<Divergence, 1>>
      divergentBlocks;
  /// Reads of variables whose copies must be equal, by the name of the
  /// variable.
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Value>> reads;
  llvm::DenseMap<mlir::StringAttr, PartitionId> varyingVariables;
  /// Names of kernels with operations whose results may differ on equal
  /// operands.
  llvm::DenseSet<mlir::StringAttr> unknownKernels;
  /// The members of groups by their names, as far as they have been asked for.
  mutable llvm::DenseMap<mlir::Attribute, std::optional<llvm::BitVector>>
      groups;
  /// First in, first out: the first reason found is the shortest way to a
  /// source, which makes the best explanation.
  std::vector<mlir::Value> worklist;
  /// What is known of the operands of operations with several results. Of many
  /// operands that are alike only the first is passed on to all of the results:
  /// the time is linear.
  llvm::DenseMap<mlir::Operation *, PartitionId> operandPartitions;
  std::unique_ptr<mlir::PostDominanceInfo> postDominance;
};

/// True if `op` is a size that is the same whatever the contents of its
/// operand.
bool isStaticSize(mlir::Operation *op);

/// The first block that all who leave `origin` come through; null if they may
/// end without having come together.
mlir::Block *getJoin(mlir::PostDominanceInfo &postDominance,
                     mlir::Block *origin);

} // namespace lockstep

#endif

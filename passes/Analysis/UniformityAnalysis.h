//===- UniformityAnalysis.h - Values equal on all replicas ------*- C++ -*-===//
//
// For every value of a step, the analysis computes whether all replicas hold
// the same value (uniform), or which of them may hold different ones: a
// partition of the ranks (RankPartition.h), mostly "any two may differ"
// (varying), sometimes "equal within each group". The verifier uses it to prove
// the order of collectives; the compiler uses it to store and compute uniform
// values once per process.
//
// MLIR's sparse data-flow framework does not model control dependence, so this
// analysis has a worklist of its own: it starts at the sources of varying
// values and propagates along uses, through regions, loops and conditions. A
// value is visited again only when its partition becomes finer, so the time is
// linear in the number of uses times the nesting depth, times the few
// partitions that a program with groups has. The partitions of values that
// follow from the rank alone are exact (RankConstants.h).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_UNIFORMITYANALYSIS_H
#define LOCKSTEP_PASSES_ANALYSIS_UNIFORMITYANALYSIS_H

#include "passes/Analysis/RankConstants.h"
#include "passes/Analysis/RankPartition.h"
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
  /// An argument of the step `op` that each replica receives for itself.
  Argument,
  /// The operation `op` computed the value from the varying value `from`, or
  /// forwarded it.
  Operand,
  /// The operation `op` is a branch or loop that the varying value `from`
  /// controls; the value is its result, or is defined inside.
  Control,
  /// The value is read from a variable to which the operation `op` assigned the
  /// varying value `from`, or which it assigned under control flow that depends
  /// on `from`.
  Variable,
};

/// The direct reason why a value is varying: the last link of a chain that
/// starts at a source.
struct Reason {
  VaryingBy kind;
  /// The operation that made the value varying.
  mlir::Operation *op = nullptr;
  /// The varying value that it depends on; null for `Source` and `Argument`.
  mlir::Value from;
};

/// A branch or loop through which replicas may take different paths, and the
/// value that controls it.
struct Divergence {
  /// The branch or loop: an operation with regions, or a terminator with
  /// successors.
  mlir::Operation *branch = nullptr;
  /// The varying condition, bound or step.
  mlir::Value condition;
  /// Ranks of one class take the same path.
  PartitionId partition = PartitionTable::kWhole;
  /// For a terminator: the immediate post-dominator of its block, where all
  /// replicas reconverge; null if there is none.
  mlir::Block *join = nullptr;

  explicit operator bool() const { return branch != nullptr; }
};

/// Uniformity of all values in the steps (`replica.step`) and functions
/// (`func.func` in collective form) at or below an operation. Results describe
/// the IR at the construction of the analysis; values created later, and values
/// inside of `device.kernel`, must not be queried.
///
/// Arguments are varying unless they carry `replica.scalar`, or a
/// `#device.binding` to a scalar or a variable that is synchronized on write. A
/// value that is defined inside of a divergent branch or loop is varying: not
/// all replicas have it.
class UniformityAnalysis {
public:
  explicit UniformityAnalysis(mlir::Operation *root,
                              UniformityRule broken = UniformityRule::None);
  ~UniformityAnalysis();
  UniformityAnalysis(UniformityAnalysis &&);

  /// True if all replicas have the value, and it is equal on all of them.
  bool isUniform(mlir::Value value) const;

  /// True if the value is equal on those replicas that have it. Weaker than
  /// `isUniform` inside of divergent branches and loops: a constant there is
  /// equal on the replicas that reach it.
  bool isEqualWhereDefined(mlir::Value value) const {
    return getPartition(value) == PartitionTable::kWhole;
  }

  /// Which replicas have equal values, of those that have the value.
  PartitionId getPartition(mlir::Value value) const;

  /// The chain of reasons why a value is varying, back to a source: the reason
  /// of `value`, then that of the value it depends on, and so on. If there are
  /// several, the reasons because of which the `ranks` differ. Empty for a
  /// uniform value.
  llvm::SmallVector<std::pair<mlir::Value, Reason>>
  explain(mlir::Value value,
          std::optional<RankPair> ranks = std::nullopt) const;

  /// The outermost divergent branch or loop around `op` (not `op` itself);
  /// false if all replicas execute `op` equally often.
  Divergence getDivergenceAround(mlir::Operation *op) const;

  /// Calls `visit` for the operations inside of `op` in pre-order, except those
  /// in regions that no replica enters according to constants.
  void walkEntered(mlir::Operation *op,
                   llvm::function_ref<void(mlir::Operation *)> visit) const;

  /// The divergence of `branch`, a branch or loop; false if all replicas take
  /// the same path through it.
  Divergence getDivergence(mlir::Operation *branch) const {
    return divergent.lookup(branch);
  }

  /// The varying value that controls `branch`, a branch or loop; null if all
  /// replicas take the same path through it.
  mlir::Value getVaryingCondition(mlir::Operation *branch) const {
    return getDivergence(branch).condition;
  }

  /// The divergent branches on which `block`, one of several in its region, is
  /// control-dependent. If there are `kMostDivergences`, there may be more.
  llvm::ArrayRef<Divergence> getDivergencesOf(mlir::Block *block) const;

  /// The most branches that are recorded for one block: without a limit, many
  /// early exits in a row would take quadratic time.
  static constexpr unsigned kMostDivergences = 16;

  /// The replicas in the group of a collective; nullopt for all of them,
  /// whatever their number is.
  std::optional<llvm::BitVector> getMembers(mlir::Operation *collective) const;

  /// The symbols of the IR at the construction of the analysis.
  mlir::SymbolTableCollection &getSymbols() const { return *symbols; }

  const PartitionTable &getPartitions() const { return partitions; }
  const RankConstants &getConstants() const { return constants; }

  UniformityRule getBrokenRule() const { return broken; }
  bool isBroken(UniformityRule rule) const { return rule == broken; }

private:
  void addSources(mlir::Operation *root);
  void addArguments(mlir::Operation *function);
  /// True if argument `index` of `function` is equal on all replicas.
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
  /// False if constants show that no replica reaches `op`.
  bool isEntered(mlir::Operation *op) const;
  /// Does nothing for operations that are not assignments, and for assignments
  /// that no replica reaches.
  void visitAssignment(mlir::Operation *assignment, mlir::Value from,
                       PartitionId partition);
  void visitRegionBranch(mlir::OpOperand &use, mlir::Operation *branch,
                         PartitionId partition);
  void visitBounds(mlir::OpOperand &use, PartitionId partition);
  void visitBlockBranch(mlir::OpOperand &use, PartitionId partition);
  /// Refines the partition of `branch`; false if that does not change it.
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

  /// A refinement of the partition of a value.
  struct Step {
    Reason reason;
    PartitionId partition;
    /// The value's next step.
    uint32_t next = kNoStep;
  };
  /// The lattice element of a value that is not uniform.
  struct Fact {
    PartitionId partition = PartitionTable::kWhole;
    /// From the constants of the ranks: final, not refined further.
    bool isExact = false;
    uint32_t firstStep = kNoStep, lastStep = kNoStep;
  };

  UniformityRule broken;
  /// The number of replicas that execute the code; 0 if it is not known.
  int64_t replicas;
  /// On the heap, because it cannot be moved.
  std::unique_ptr<mlir::SymbolTableCollection> symbols =
      std::make_unique<mlir::SymbolTableCollection>();
  mutable PartitionTable partitions;
  RankConstants constants;
  llvm::DenseMap<mlir::Value, Fact> facts;
  std::vector<Step> steps;
  /// Branches and loops that a varying value controls.
  llvm::DenseMap<mlir::Operation *, Divergence> divergent;
  /// Blocks of unstructured control flow that not all replicas may reach.
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<Divergence, 1>>
      divergentBlocks;
  /// Reads of variables whose copies must be equal, by the name of the
  /// variable.
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Value>> reads;
  llvm::DenseMap<mlir::StringAttr, PartitionId> varyingVariables;
  /// Names of kernels with operations whose results may differ on equal
  /// operands.
  llvm::DenseSet<mlir::StringAttr> unknownKernels;
  /// The members of groups by their names, computed on first use.
  mutable llvm::DenseMap<mlir::Attribute, std::optional<llvm::BitVector>>
      groups;
  /// First in, first out: the first reason found is the shortest chain to a
  /// source, which is the best explanation.
  std::vector<mlir::Value> worklist;
  /// The combined partition of the operands of operations with several results.
  /// An operand that does not refine it is not propagated to the results, so
  /// that the time is linear in operands plus results.
  llvm::DenseMap<mlir::Operation *, PartitionId> operandPartitions;
  std::unique_ptr<mlir::PostDominanceInfo> postDominance;
};

/// True if `op` is a rank or a static size of its operand, which does not
/// depend on the contents of the tensor.
bool isStaticSize(mlir::Operation *op);

/// The immediate post-dominator of `origin`, where replicas that leave it
/// reconverge; null if they may reach different ends.
mlir::Block *getJoin(mlir::PostDominanceInfo &postDominance,
                     mlir::Block *origin);

} // namespace lockstep

#endif

//===- Witness.h - Search for counterexamples -------------------*- C++ -*-===//
//
// For steps that cannot be proven, the checks search inputs on which they fail:
// the interpreter executes a slice of the control flow (ControlSlice.h) on
// random inputs (RandomInputs.h). An error that depends on inputs is called
// wrong only if such inputs are found, and they are shown to the user as an
// example. The effort is limited in operations, not in time, so that the same
// program has the same verdict on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_WITNESS_H
#define LOCKSTEP_PASSES_VERIFY_WITNESS_H

#include "dialect/Reference/Machine.h"
#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Verify/RandomInputs.h"

#include <map>
#include <memory>
#include <set>

namespace lockstep {

/// Inputs on which a step fails, and two replicas that take different paths or
/// hold different values.
struct Witness {
  std::shared_ptr<const InputSample> inputs;
  RankPair ranks;
  /// The branch through which the replicas take different paths; null if they
  /// hold different values.
  mlir::Operation *branch = nullptr;
};

/// Searches in one function.
class WitnessSearch {
public:
  WitnessSearch(mlir::FunctionOpInterface function,
                const UniformityAnalysis &uniformity);
  ~WitnessSearch();

  /// A run in which replicas deadlock, and two of them take different paths
  /// through `branch`, or else through a branch inside of it. As few as
  /// possible of the other branches in and below `refused` diverge in this run,
  /// since a divergent branch need not be a cause of the deadlock.
  std::optional<Witness> findBlocked(mlir::Operation *branch,
                                     llvm::ArrayRef<mlir::Operation *> refused);

  /// A run in which an operand of `place` that must be equal on all replicas
  /// differs: `value`, or any if that is null. If there is a `branch`, two
  /// replicas take different paths through it.
  std::optional<Witness> findDifferent(mlir::Operation *place,
                                       mlir::Value value,
                                       mlir::Operation *branch);

  /// Why the last search found nothing, as text that follows a colon.
  std::string describeEffort() const;

  /// "x = 1 on replica 0 and x = 2 on replica 1": the first of `arguments` (of
  /// the function, or results of `replica.next`) that differs between the two
  /// replicas, which is returned in `differs`; else the first that they have in
  /// common. Empty if none can be described.
  std::string describe(const Witness &witness,
                       llvm::ArrayRef<mlir::Value> arguments,
                       mlir::Value *differs);

  /// The inputs as attributes: `arguments`, for each replica those that its
  /// caller passes, and `variables`. Null if they are large or batches of an
  /// iterator.
  mlir::DictionaryAttr getInputs(const Witness &witness);

private:
  class Runner;
  using Branches = std::set<unsigned>;

  /// Counts a run that ended with `failure`; false if it ended without one.
  bool note(const interpret::Failure &failure);
  void searchBlocked(llvm::ArrayRef<mlir::Operation *> refused);
  std::unique_ptr<Runner>
  makeRunner(llvm::ArrayRef<mlir::OpOperand *> criteria,
             llvm::ArrayRef<mlir::Operation *> branches);

  mlir::FunctionOpInterface function;
  int64_t replicas;
  /// The element operations that are left for all searches.
  int64_t budget;
  /// The runs in which replicas deadlocked, by the numbers of the branches
  /// that diverged, and two replicas that took different paths for each branch.
  struct Blocked {
    std::shared_ptr<const InputSample> inputs;
    std::map<unsigned, RankPair> ranks;
  };
  std::map<Branches, Blocked> blocked;
  /// The refused branches, then those inside of them; the number of a branch is
  /// its position.
  llvm::SetVector<mlir::Operation *> branches;
  bool isSearched = false;
  /// How far a search got.
  struct Effort {
    enum { Tried, TooLong, TooManyReplicas, NotExecuted } end = Tried;
    uint64_t runs = 0;
  };
  Effort effort, effortForBlocked;
};

} // namespace lockstep

#endif

//===- Witness.h - Runs that go wrong ---------------------------*- C++ -*-===//
//
// Of what cannot be proven, the checks search inputs on which it really goes
// wrong: the interpreter executes what decides how replicas go (ControlSlice.h)
// on inputs by chance (Draws.h). What it has found is an example for the user;
// only with one is an error that depends on inputs called wrong. How much is
// tried is counted in operations, so that the same program gets the same
// verdict everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_WITNESS_H
#define LOCKSTEP_PASSES_VERIFY_WITNESS_H

#include "dialect/Reference/Machine.h"
#include "passes/Analysis/Uniformity.h"
#include "passes/Verify/Draws.h"

#include <map>
#include <memory>
#include <set>

namespace lockstep {

/// Inputs on which something goes wrong, and two replicas that go different
/// ways there or hold different values.
struct Witness {
  std::shared_ptr<const Draw> inputs;
  RankPair ranks;
  /// Through which they go different ways; null if they hold different values.
  mlir::Operation *branch = nullptr;
};

/// Searches in one function.
class WitnessSearch {
public:
  WitnessSearch(mlir::FunctionOpInterface function,
                const UniformityAnalysis &uniformity);
  ~WitnessSearch();

  /// A run in which replicas block each other, and two of them go different
  /// ways through `branch`, or else through one inside of it, and through as
  /// few as possible of the others in `refused`, or inside of these: of two
  /// branches that are gone through differently, one may have nothing to do
  /// with it.
  std::optional<Witness> findBlocked(mlir::Operation *branch,
                                     llvm::ArrayRef<mlir::Operation *> refused);

  /// A run in which what must be equal on all replicas differs at `place`: its
  /// operand `value`, or any if that is null. If there is a `branch`, two
  /// replicas go different ways through it.
  std::optional<Witness> findDifferent(mlir::Operation *place,
                                       mlir::Value value,
                                       mlir::Operation *branch);

  /// Why the last search found nothing, to follow after a colon.
  std::string describeEffort() const;

  /// "x = 1 on replica 0 and x = 2 on replica 1": the first of `arguments` (of
  /// the function, or results of `replica.next`) in which the two replicas
  /// differ; those that they have in common if there is none. Empty if there is
  /// nothing to tell.
  std::string describe(const Witness &witness,
                       llvm::ArrayRef<mlir::Value> arguments,
                       mlir::Value *differs);

  /// The inputs as attributes: `arguments`, for each replica those that it is
  /// given, and `variables`. Null if they are large or batches of an iterator.
  mlir::DictionaryAttr getInputs(const Witness &witness);

private:
  class Runner;
  using Branches = std::set<unsigned>;

  /// Counts a run that ended with `failure`; false if it ended without one.
  bool note(const interpret::Failure &failure);
  void searchBlocked(llvm::ArrayRef<mlir::Operation *> refused);
  std::unique_ptr<Runner>
  makeRunner(llvm::ArrayRef<mlir::OpOperand *> asked,
             llvm::ArrayRef<mlir::Operation *> branches);

  mlir::FunctionOpInterface function;
  int64_t replicas;
  /// Element operations that are left for all searches.
  int64_t budget;
  /// The runs in which replicas blocked each other: the branches that they went
  /// through differently, by their numbers, and two replicas for each.
  struct Blocked {
    std::shared_ptr<const Draw> inputs;
    std::map<unsigned, RankPair> ranks;
  };
  std::map<Branches, Blocked> blocked;
  /// The branches that are refused, then those inside of them; their numbers
  /// are their positions.
  llvm::SetVector<mlir::Operation *> branches;
  bool isSearched = false;
  /// What has been done in a search.
  struct Effort {
    enum { Tried, TooLong, TooManyReplicas, NotExecuted } end = Tried;
    uint64_t runs = 0;
  };
  Effort effort, effortForBlocked;
};

} // namespace lockstep

#endif

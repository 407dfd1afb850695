//===- Verdict.h - Wrong, or not provable -----------------------*- C++ -*-===//
//
// The checks refuse what they cannot prove. Of some of that it is known that it
// goes wrong: there is data on which it does. Of the rest nobody knows, and the
// user is told what could not be decided.
//
// It is known if the constants of two ranks differ in a condition, and nothing
// that an input decides stands on the way; or if inputs have been found on
// which replicas block each other, or copies differ (Witness.h). Where neither
// is so, the form of the program says what it is that could not be decided.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_VERDICT_H
#define LOCKSTEP_PASSES_VERIFY_VERDICT_H

#include "passes/Verify/Inputs.h"
#include "passes/Verify/Sequence.h"
#include "passes/Verify/Witness.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace lockstep {

struct Verdict {
  bool isWrong = false;
  /// Why it is wrong, or what could not be decided.
  std::string reason;
  /// The branch or loop whose condition is meant; null if there is none.
  mlir::Operation *condition = nullptr;
  /// If it is wrong: this has been seen. If it is not: the form of the program
  /// says that it is, but it has not been seen.
  bool isSeen = false, isDoubtful = false;
  /// The inputs on which it has been, as in `WitnessSearch::getInputs`; null if
  /// they are not recorded.
  mlir::DictionaryAttr inputs = {};
};

/// "wrong" or "not provable".
llvm::StringRef toString(const Verdict &verdict);

/// Ends the message of an error with its verdict, and gives it to who records
/// errors (`findVerdict`).
void tellVerdict(mlir::InFlightDiagnostic &diagnostic, const Verdict &verdict);

/// A verdict as it was told: `verdict`, `reason` and, as FILE:LINE,
/// `condition`, which may be missing. Null for other errors.
mlir::DictionaryAttr findVerdict(mlir::Diagnostic &diagnostic);

/// The inputs of a verdict as it was told; null if there are none.
mlir::DictionaryAttr findInputs(mlir::Diagnostic &diagnostic);

/// Gives errors of one function their verdicts.
class Judge {
public:
  /// Without `findsExamples` nothing is executed: what only an example would
  /// show to be wrong is not provable.
  Judge(mlir::FunctionOpInterface function,
        const UniformityAnalysis &uniformity, bool findsExamples)
      : function(function), uniformity(uniformity),
        search(function, uniformity), findsExamples(findsExamples) {}

  /// A branch that is refused. Several of them may make good for each other:
  /// who does not meet in the one meets in the other.
  void addRefused(mlir::Operation *branch) { refused.insert(branch); }

  /// Some replicas come to `collective`, others go another way through
  /// `divergence`; `ranks` are two of them, if they are known.
  Verdict judgeMissing(mlir::Operation *collective,
                       const Divergence &divergence,
                       std::optional<RankPair> ranks);

  /// The same where others come to something else in its place.
  Verdict judgeDifferent(const Item &lhs, const Item &rhs,
                         const Divergence &divergence,
                         std::optional<RankPair> ranks);

  /// `value` is to be equal on all replicas at `place`.
  Verdict judgeValue(mlir::Value value, mlir::Operation *place);

  /// `place` is to be reached by all replicas or none.
  Verdict judgeReached(mlir::Operation *place, const Divergence &divergence);

private:
  /// A branch or loop on the way to a place, and the region that leads there.
  struct Step {
    mlir::Operation *branch;
    unsigned region;
  };
  enum class Leads { Always, ByRank, ByInput };
  /// Whether `value` makes two replicas that come to `place` differ.
  struct Question {
    mlir::Operation *place;
    mlir::Value value;
    /// The branch that the value decides; null if the value itself matters.
    mlir::Operation *branch = nullptr;
    /// Which ranks are known to have equal values, and two that are known to
    /// differ.
    PartitionId partition = PartitionTable::kWhole;
    bool isKnown = false;
    std::optional<RankPair> ranks;
    /// Where it does harm if they differ: what must be equal there; null if
    /// replicas block each other.
    mlir::Operation *use = nullptr;
  };
  /// What the form of the program says.
  struct Opinion {
    Verdict verdict;
    enum {
      /// There is nothing to try.
      Final,
      /// It is wrong if an example is found.
      Open
    } state = Open;
  };

  Verdict judge(const Question &question);
  Verdict tryOut(const Question &question, Verdict byForm);
  std::optional<Witness> findWitness(const Question &question);
  Opinion judgeByForm(const Question &question) const;
  std::optional<Verdict> findUndecided(const Item &lhs, const Item &rhs,
                                       const Divergence &divergence) const;
  Verdict judgeByRank(const Question &question,
                      const llvm::BitVector &ranks) const;
  std::vector<Step> getWay(mlir::Operation *place) const;
  Leads leads(const Step &step, llvm::BitVector &ranks) const;
  void addInside(mlir::Operation *branch,
                 llvm::SetVector<mlir::Operation *> &others) const;
  bool isKnown(const Divergence &divergence) const;
  mlir::Operation *findOtherWriter(mlir::Operation *op);

  mlir::FunctionOpInterface function;
  const UniformityAnalysis &uniformity;
  llvm::SetVector<mlir::Operation *> refused;
  /// The last two operations that write to each variable, if they have been
  /// asked for.
  llvm::DenseMap<mlir::Attribute,
                 std::pair<mlir::Operation *, mlir::Operation *>>
      lastWrites;
  WitnessSearch search;
  bool findsExamples;
};

} // namespace lockstep

#endif

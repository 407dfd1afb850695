//===- Verdict.h - Wrong, or not provable -----------------------*- C++ -*-===//
//
// The checks refuse every program that they cannot prove. Some are known to be
// wrong: there are inputs on which they fail. For the others that is not known,
// and the error names the condition that could not be decided.
//
// A program is wrong if a condition has different constants on two ranks and no
// branch on the path to it depends on inputs, or if inputs have been found on
// which replicas deadlock or copies differ (Witness.h). Otherwise the undecided
// condition is derived from the form of the program.
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
  /// The branch or loop whose condition `reason` is about; null if there is
  /// none.
  mlir::Operation *condition = nullptr;
  /// `hasExample`: it is wrong, and an example has been executed.
  /// `isUnconfirmed`: the form of the program suggests that it is wrong, but no
  /// example is known.
  bool hasExample = false, isUnconfirmed = false;
  /// The inputs of the example, as in `WitnessSearch::getInputs`; null if they
  /// are not recorded.
  mlir::DictionaryAttr inputs = {};
};

/// "wrong" or "not provable".
llvm::StringRef toString(const Verdict &verdict);

/// Appends the verdict to the message of an error, and records it in the
/// metadata of the diagnostic (`findVerdict`).
void attachVerdict(mlir::InFlightDiagnostic &diagnostic,
                   const Verdict &verdict);

/// The recorded verdict of an error: `verdict`, `reason` and, as FILE:LINE,
/// `condition`, which may be missing. Null for other errors.
mlir::DictionaryAttr findVerdict(mlir::Diagnostic &diagnostic);

/// The recorded inputs of an error; null if there are none.
mlir::DictionaryAttr findInputs(mlir::Diagnostic &diagnostic);

/// Gives errors of one function their verdicts.
class Judge {
public:
  /// Without `findsExamples` nothing is executed: errors that only an example
  /// would show to be wrong are `not provable`.
  Judge(mlir::FunctionOpInterface function,
        const UniformityAnalysis &uniformity, bool findsExamples)
      : function(function), uniformity(uniformity),
        search(function, uniformity), findsExamples(findsExamples) {}

  /// A branch that is refused. Several of them may compensate each other: a
  /// replica that skips a collective in the one may issue it in the other.
  void addRefused(mlir::Operation *branch) { refused.insert(branch); }

  /// Some replicas reach `collective`, others take another path through
  /// `divergence`; `ranks` are one of each, if they are known.
  Verdict judgeMissing(mlir::Operation *collective,
                       const Divergence &divergence,
                       std::optional<RankPair> ranks);

  /// Some replicas reach `lhs` at a position of their sequence, others `rhs`.
  Verdict judgeDifferent(const Item &lhs, const Item &rhs,
                         const Divergence &divergence,
                         std::optional<RankPair> ranks);

  /// `value` is to be equal on all replicas at `place`.
  Verdict judgeValue(mlir::Value value, mlir::Operation *place);

  /// `place` is to be reached by all replicas or none.
  Verdict judgeReached(mlir::Operation *place, const Divergence &divergence);

private:
  /// A branch or loop on the path to an operation, and the region that leads to
  /// it.
  struct Step {
    mlir::Operation *branch;
    unsigned region;
  };
  /// Which replicas take a step: all, those of certain ranks, or those with
  /// certain inputs.
  enum class Taken { Always, ByRank, ByInput };
  /// Whether `value` can be different on two replicas that reach `place`.
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
    /// The operation that needs equal values; null if the error is a deadlock
    /// of replicas.
    mlir::Operation *use = nullptr;
  };
  /// A verdict from the form of the program alone.
  struct StaticVerdict {
    Verdict verdict;
    enum {
      /// Executing examples would not change the verdict.
      Final,
      /// It is wrong if an example is found.
      Open
    } state = Open;
  };

  Verdict judge(const Question &question);
  Verdict searchCounterexample(const Question &question, Verdict staticVerdict);
  std::optional<Witness> findWitness(const Question &question);
  StaticVerdict judgeStatically(const Question &question) const;
  std::optional<Verdict> findUndecided(const Item &lhs, const Item &rhs,
                                       const Divergence &divergence) const;
  Verdict judgeByRank(const Question &question,
                      const llvm::BitVector &ranks) const;
  std::vector<Step> getControlPath(mlir::Operation *place) const;
  Taken classify(const Step &step, llvm::BitVector &ranks) const;
  void addInside(mlir::Operation *branch,
                 llvm::SetVector<mlir::Operation *> &others) const;
  bool isKnown(const Divergence &divergence) const;
  mlir::Operation *findOtherWriter(mlir::Operation *op);

  mlir::FunctionOpInterface function;
  const UniformityAnalysis &uniformity;
  llvm::SetVector<mlir::Operation *> refused;
  /// The last two operations that write to each variable, computed on first
  /// use.
  llvm::DenseMap<mlir::Attribute,
                 std::pair<mlir::Operation *, mlir::Operation *>>
      lastWrites;
  WitnessSearch search;
  bool findsExamples;
};

} // namespace lockstep

#endif

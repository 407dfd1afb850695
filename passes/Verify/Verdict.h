//===- Verdict.h - Wrong, or not provable -----------------------*- C++ -*-===//
//
// The checks refuse what they cannot prove. Of some of that it is known that it goes wrong: there is data on which it does. Of the rest
// nobody knows, and the user is told what could not be decided.
//
// A branch lets replicas go different ways if the constants of two ranks differ in it, or if its condition depends on an argument that
// each replica gets for itself, and on nothing that decides something else on which the error depends: then it can be chosen. As in the
// proof about artifacts, a condition that depends on an input is taken to have both outcomes, though there are some that are always true.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_VERDICT_H
#define LOCKSTEP_PASSES_VERIFY_VERDICT_H

#include "passes/Verify/Inputs.h"
#include "passes/Verify/Sequence.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace lockstep {

struct Verdict {
  bool isWrong = false;
  /// Why it is wrong, or what could not be decided.
  std::string reason;
  /// The branch or loop whose condition is meant; null if there is none.
  mlir::Operation *condition = nullptr;
};

/// "wrong" or "not provable".
llvm::StringRef toString(const Verdict &verdict);

/// Ends the message of an error with its verdict, and gives it to who records errors (`findVerdict`).
void tellVerdict(mlir::InFlightDiagnostic &diagnostic, const Verdict &verdict);

/// A verdict as it was told: `verdict`, `reason` and, as FILE:LINE, `condition`, which may be missing. Null for other errors.
mlir::DictionaryAttr findVerdict(mlir::Diagnostic &diagnostic);

/// Gives errors of one function their verdicts.
class Judge {
public:
  explicit Judge(mlir::FunctionOpInterface function, const UniformityAnalysis &uniformity) : function(function), uniformity(uniformity) {}

  /// A branch that is refused. Several of them may make good for each other: who does not meet in the one meets in the other.
  void addRefused(mlir::Operation *branch) { refused.insert(branch); }

  /// Some replicas come to `collective`, others go another way through `divergence`; `ranks` are two of them, if they are known.
  Verdict judgeMissing(mlir::Operation *collective, const Divergence &divergence, std::optional<RankPair> ranks) const;

  /// The same where others come to something else in its place.
  Verdict judgeDifferent(const Item &lhs, const Item &rhs, const Divergence &divergence, std::optional<RankPair> ranks) const;

  /// `value` is to be equal on all replicas at `place`.
  Verdict judgeValue(mlir::Value value, mlir::Operation *place) const;

  /// `place` is to be reached by all replicas or none.
  Verdict judgeReached(mlir::Operation *place, const Divergence &divergence) const;

private:
  /// A branch or loop on the way to a place, and the region that leads there.
  struct Step {
    mlir::Operation *branch;
    unsigned region;
  };
  enum class Leads { Always, Never, ByRank, ByInput };
  /// Whether `value` makes two replicas that come to `place` differ.
  struct Question {
    mlir::Operation *place;
    mlir::Value value;
    /// The branch that the value decides; null if the value itself matters.
    mlir::Operation *branch = nullptr;
    /// Which ranks are known to have equal values, and two that are known to differ.
    PartitionId partition = PartitionTable::kWhole;
    bool isKnown = false;
    std::optional<RankPair> ranks;
  };

  Verdict judge(const Question &question) const;
  Verdict judgeByRank(const Question &question, const llvm::BitVector &ranks) const;
  std::vector<Step> getWay(mlir::Operation *place) const;
  Leads leads(const Step &step, llvm::BitVector &ranks) const;
  void addInside(mlir::Operation *branch, llvm::SetVector<mlir::Operation *> &others) const;
  bool isKnown(const Divergence &divergence) const;

  mlir::FunctionOpInterface function;
  const UniformityAnalysis &uniformity;
  llvm::SetVector<mlir::Operation *> refused;
};

} // namespace lockstep

#endif

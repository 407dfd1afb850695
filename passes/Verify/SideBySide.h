//===- SideBySide.h - Two sequences of collectives as a table ---*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_VERIFY_SIDEBYSIDE_H
#define LOCKSTEP_PASSES_VERIFY_SIDEBYSIDE_H

#include "passes/Verify/Sequence.h"

#include <string>

namespace lockstep {

/// One of two ways that replicas go.
struct Way {
  /// Who goes it: "replica 0 (true)", or where: "where it is true".
  std::string who;
  llvm::ArrayRef<Item> sequence;
  /// What those who go it come to when the sequence has ended; empty if that is
  /// not to be told.
  std::string after;
};

/// What a collective does, in one line: "all_reduce sum of tensor<4xf32>".
std::string describeCollective(mlir::Operation *collective);

/// "all_reduce sum of tensor<4xf32> (model.py:21)".
std::string describeWithLine(mlir::Operation *collective);

/// The collective that who has come through `op` comes to next, as a sentence:
/// the next in program order, or the end of the function.
std::string describeNext(mlir::Operation *op,
                         mlir::SymbolTableCollection &symbols);

/// What tells `item` from `other`, in whose place it is issued, and is not said
/// of a collective, loop or branch anyway: other attributes, bounds or
/// conditions. Empty if there is nothing more to say.
std::string describeDetail(const Item &item, const Item &other);

/// A table with a column for each way, up to and with the first line in which
/// they differ:
///
///     replica 0 (true)              | replica 1 (false)
///     all_reduce sum (model.py:21)  | all_reduce sum (model.py:25)
///     all_gather (model.py:22)     != goes on to the end of the step
///
/// Of many equal lines the first are left out; loops and branches that differ
/// inside are followed into.
std::string tellSideBySide(const Way &lhs, const Way &rhs,
                           SequenceMatcher &matcher);

} // namespace lockstep

#endif

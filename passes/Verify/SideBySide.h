//===- SideBySide.h - Two sequences of collectives as a table ---*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_VERIFY_SIDEBYSIDE_H
#define LOCKSTEP_PASSES_VERIFY_SIDEBYSIDE_H

#include "passes/Verify/Sequence.h"

#include <string>

namespace lockstep {

/// One of two paths that replicas take.
struct IssuedPath {
  /// The replica that takes the path ("replica 0 (true)"), or the outcome that
  /// selects it ("where it is true").
  std::string who;
  llvm::ArrayRef<Item> sequence;
  /// What replicas on this path reach after the sequence; empty if that is not
  /// reported.
  std::string after;
};

/// What a collective does, in one line: "all_reduce sum of tensor<4xf32>".
std::string describeCollective(mlir::Operation *collective);

/// "all_reduce sum of tensor<4xf32> (model.py:21)".
std::string describeWithLine(mlir::Operation *collective);

/// A phrase for what a replica reaches after `op`: the next collective in
/// program order, or the end of the function.
std::string describeNext(mlir::Operation *op,
                         mlir::SymbolTableCollection &symbols);

/// How `item` differs from `other` at the same position: in attributes, bounds
/// or conditions that the description of a collective, loop or branch does not
/// mention anyway. Empty if there is nothing to add.
std::string describeDetail(const Item &item, const Item &other);

/// A table with a column for each path, up to and including the first line in
/// which they differ:
///
///     replica 0 (true)              | replica 1 (false)
///     all_reduce sum (model.py:21)  | all_reduce sum (model.py:25)
///     all_gather (model.py:22)     != goes on to the end of the step
///
/// Only the last few equal lines are shown; loops and branches whose regions
/// differ are expanded.
std::string describeSideBySide(const IssuedPath &lhs, const IssuedPath &rhs,
                               SequenceMatcher &matcher);

} // namespace lockstep

#endif

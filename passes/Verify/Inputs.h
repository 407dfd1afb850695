//===- Inputs.h - What values are computed from -----------------*- C++ -*-===//
//
// The arguments of a function and the variables that a value is computed from,
// directly or indirectly. Two conditions without a common input are independent
// of each other; for two with a common input that is not known.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_INPUTS_H
#define LOCKSTEP_PASSES_VERIFY_INPUTS_H

#include "passes/Analysis/UniformityAnalysis.h"

#include "llvm/ADT/SetVector.h"

#include <string>

namespace lockstep {

/// The inputs of some values, in the order in which they were found.
struct Inputs {
  /// Arguments of functions, other than the number of the replica, and batches
  /// that programs take.
  llvm::SetVector<mlir::Value> arguments;
  /// Names of variables.
  llvm::SetVector<mlir::Attribute> variables;
  bool hasRank = false;

  /// Everything that `values` and what they are computed from depend on.
  static Inputs of(mlir::ValueRange values);

  /// Per-replica arguments that may make `values` differ: all values on the
  /// def-use chain from the argument may differ between replicas. (An input
  /// that passes through an all_reduce does not count, as its result is equal.)
  static Inputs perReplicaInputsOf(mlir::ValueRange values,
                                   const UniformityAnalysis &uniformity);

  /// True if these and `others` have an argument or variable in common.
  bool intersects(const Inputs &others) const;
  /// One of the inputs, by the name that the user knows; empty if there is
  /// none.
  std::string describe() const;
};

} // namespace lockstep

#endif

//===- Inputs.h - What values are computed from -----------------*- C++ -*-===//
//
// The arguments of a function and the variables that a value is computed from,
// whatever lies between. Two conditions that have no input in common can be
// given any outcomes, one independent of the other; of two that have one,
// nobody knows.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_INPUTS_H
#define LOCKSTEP_PASSES_VERIFY_INPUTS_H

#include "passes/Analysis/Uniformity.h"

#include "llvm/ADT/SetVector.h"

#include <string>

namespace lockstep {

/// The inputs of some values, in the order in which they were met.
struct Inputs {
  /// Arguments of functions, other than the number of the replica, and batches
  /// that programs take.
  llvm::SetVector<mlir::Value> arguments;
  /// Names of variables.
  llvm::SetVector<mlir::Attribute> variables;
  bool hasRank = false;

  /// Everything that `values` and what they are computed from depend on.
  static Inputs of(mlir::ValueRange values);

  /// Arguments that replicas get each for itself, and from which they may get
  /// different `values`: on the ways from them everything may differ. (What
  /// goes through an all_reduce is equal behind it, whatever it was made of.)
  static Inputs ownOf(mlir::ValueRange values,
                      const UniformityAnalysis &uniformity);

  /// True if one of these is among `others` too.
  bool meets(const Inputs &others) const;
  /// One of them, as the user calls it; empty if there is none.
  std::string describe() const;
};

} // namespace lockstep

#endif

//===- Aggregation.h - aggregation of replica variables ---------*- C++ -*-===//
//
// A variable with synchronization on_read has a value for each replica, and its
// aggregation combines them:
//
//   sum                  saved is their sum; each of the N that restore gets
//                        the N-th part, of integers cut off towards 0
//   mean                 saved is their mean; each gets it
//   only_first_replica   saved is the value of replica 0; each gets it
//   none                 they are nothing together: each is saved
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_CHECKPOINT_AGGREGATION_H
#define LOCKSTEP_RUNTIME_CHECKPOINT_AGGREGATION_H

#include "runtime/checkpoint/Variables.h"

#include <deque>

namespace lockstep::runtime {

/// Whether the values of the replicas are aggregated to one value.
bool isAggregated(const VariableView &variable);

/// Checks that the values can be aggregated. The error lists all variables for
/// which they cannot: sums of booleans [E_DTYPE_UNSUPPORTED], means of integers
/// [E_MEAN_INT_VAR].
Status checkAggregation(std::span<const VariableView> variables);

/// The aggregated value, bitwise equal to a read of all replicas: sums in the
/// order of an all_reduce, 16-bit floats in f32.
void aggregate(const VariableView &variable, std::span<std::byte> value);

/// Sets each replica to its part of `value`.
void distribute(const VariableView &variable, std::span<const std::byte> value);

/// Variables in the form of a checkpoint: aggregated ones have one value, in
/// separate memory; the others are unchanged.
class AggregatedVariables {
public:
  /// `variables` must outlive the result and have passed `checkAggregation`.
  explicit AggregatedVariables(std::span<const VariableView> variables);
  AggregatedVariables(const AggregatedVariables &) = delete;

  std::span<const VariableView> views() const { return oneValue; }
  /// Converts the values of the replicas to the one value, and back, for all
  /// aggregated variables.
  void aggregate();
  void distribute();

private:
  std::span<const VariableView> variables;
  std::vector<VariableView> oneValue;
  std::deque<std::vector<std::byte>> memory;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_CHECKPOINT_AGGREGATION_H

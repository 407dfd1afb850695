//===- Rules.h - The rules of the checks before lowering --------*- C++ -*-===//
//
// Each rule by which `verify-uniformity` refuses a program has a name. Tests
// disable one rule at a time to show that it is needed: without it, some
// program that can deadlock, or whose copies would diverge, is accepted.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_RULES_H
#define LOCKSTEP_PASSES_ANALYSIS_RULES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace lockstep {

/// A rule that is disabled, by tests only. An enumerator states the false
/// assumption that replaces the rule; its name on the command line is in
/// lowercase with hyphens: `ids-are-equal`.
enum class UniformityRule : uint8_t {
  None,
  // Rules about which values are equal on all replicas.
  /// The number of a replica is no source of varying values.
  IdsAreEqual,
  /// Batches, and other arguments that each replica receives for itself, are
  /// equal.
  ArgumentsAreEqual,
  /// All copies of an on_read variable are equal.
  PrivateVariablesAreEqual,
  /// Results of a collective that only some ranks receive, or of which each
  /// rank receives a part, are equal.
  PartsAreEqual,
  /// The constants of all ranks are those of rank 0.
  RanksAreEqual,
  /// A value that the body of an operation captures is not an operand of it.
  CapturesAreIgnored,
  /// The value of a branch or loop does not depend on the path through it.
  PathsAreIgnored,
  /// Values that a loop carries do not reach the next iteration.
  IterationsAreIgnored,
  /// The values of blocks do not depend on the path to them.
  JoinsAreIgnored,
  // Rules about whether all replicas issue the same collectives.
  /// Only some replicas may reach a collective under a condition.
  ConditionsAreIgnored,
  /// The trip counts of a loop with collectives may differ.
  TripCountsAreIgnored,
  /// Members of a group take the same path through every branch.
  GroupsTakeOnePath,
  /// Collectives of groups that share ranks may be in different orders.
  OrdersMayDiffer,
  /// Only some replicas may reach a block with a collective.
  EarlyExitsAreIgnored,
  /// One side of a branch may issue more than the other.
  CountsMayDiffer,
  KindsMayDiffer,
  ReductionsMayDiffer,
  GroupsMayDiffer,
  ChannelsMayDiffer,
  /// All other attributes: axes, roots, bounds of buckets, variables.
  AttributesMayDiffer,
  TypesMayDiffer,
  /// Sizes that are not known may differ between two sides.
  SideSizesMayDiffer,
  /// Loops on two sides may have different bounds.
  BoundsMayDiffer,
  /// Branches on two sides may have different conditions.
  NestedConditionsMayDiffer,
  /// Loops on two sides with unknown trip counts have equal ones.
  UnknownTripCountsAreEqual,
  /// Two merge_calls may have different plain arguments.
  PlainArgumentsMayDiffer,
  /// Two merge_calls may have different regions.
  MergedRegionsMayDiffer,
  /// Collectives may be inside of operations that do not define how often and
  /// in which order they execute their regions.
  OrderlessRegionsAreAllowed,
  CallsAreAllowed,
  // Rules about whether copies of a variable stay equal.
  /// A variable with aggregation `none` may be assigned varying values.
  AssignedValuesMayDiffer,
  /// Only some replicas may reach an assignment.
  AssignmentsMayBeMissing,
  UpdatesMayDiffer,
  ResultsOfRunsMayDiffer,
  PlainValuesMayDiffer,
  ReturnedValuesMayDiffer,
  /// Operands of a collective may have different sizes.
  SizesMayDiffer,
};

/// Nullopt if no rule has this name; `None` for the empty name.
std::optional<UniformityRule> parseBrokenRule(llvm::StringRef name);

/// The names of all rules, as on the command line.
llvm::ArrayRef<llvm::StringRef> getRuleNames();

} // namespace lockstep

#endif

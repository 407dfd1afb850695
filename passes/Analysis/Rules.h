//===- Rules.h - The rules of the checks before lowering --------*- C++ -*-===//
//
// Each rule by which `verify-uniformity` refuses a program has a name, under
// which tests leave it out to show what it is good for: some program that can
// block, or whose copies would diverge, is accepted without it.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_RULES_H
#define LOCKSTEP_PASSES_ANALYSIS_RULES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace lockstep {

/// A rule to leave out. Never set but by tests. The name on the command line is
/// the enumerator's, in words: `ids-are-equal`.
enum class BrokenRule : uint8_t {
  None,
  // Which values are equal on all replicas.
  /// The number of a replica is no source of varying values.
  IdsAreEqual,
  /// Batches, and what else each replica gets for itself, are equal.
  ArgumentsAreEqual,
  /// All copies of an on_read variable hold the same.
  PrivateVariablesAreEqual,
  /// What a collective gives to some ranks only, or to each a part of, is
  /// equal.
  PartsAreEqual,
  /// The constants of all ranks are those of rank 0.
  RanksAreEqual,
  /// What an operation with a body uses in it does not count as its operand.
  CapturesAreIgnored,
  /// The value of a branch or loop does not depend on the way through it.
  WaysAreIgnored,
  /// What a loop hands to its next turn does not arrive there.
  TurnsAreIgnored,
  /// The values of blocks do not depend on the way to them.
  JoinsAreIgnored,
  // Whether all replicas issue the same.
  /// Only some come to a collective under a condition, and nobody minds.
  ConditionsAreIgnored,
  /// The trip counts of a loop with collectives may differ.
  TripCountsAreIgnored,
  /// Members of a group go the same way, whatever decides.
  GroupsGoTogether,
  /// Groups that share ranks may be met in different orders.
  OrdersMayDiffer,
  /// Not all come to a block.
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
  SidesMayHaveOtherSizes,
  /// Loops on two sides may have other bounds.
  BoundsMayDiffer,
  /// Branches on two sides may have other conditions.
  NestedConditionsMayDiffer,
  /// Loops on two sides whose trip counts are not known are alike.
  WhilesAreAlike,
  /// Two merge_calls may get other plain arguments.
  PlainArgumentsMayDiffer,
  /// Two merge_calls may have other regions.
  MergedRegionsMayDiffer,
  /// Operations that do not say how often and in which order they issue what is
  /// inside are fine.
  OrderlessRegionsAreAllowed,
  CallsAreAllowed,
  // Whether copies stay equal.
  /// An aggregation of `none` takes varying values.
  AssignedValuesMayDiffer,
  /// An assignment that only some replicas come to is fine.
  AssignmentsMayBeMissing,
  UpdatesMayDiffer,
  ResultsOfRunsMayDiffer,
  PlainValuesMayDiffer,
  ReturnedValuesMayDiffer,
  /// Operands of a collective may have different sizes.
  SizesMayDiffer,
};

/// Nullopt if no rule has this name; `None` for the empty name.
std::optional<BrokenRule> parseBrokenRule(llvm::StringRef name);

/// The names of all rules, as on the command line.
llvm::ArrayRef<llvm::StringRef> getRuleNames();

} // namespace lockstep

#endif

//===- CollectiveKinds.h - the kinds of collectives, as data ----*- C++ -*-===//
//
// One row a kind. The dialect, its passes, the artifact's verifier, the proof
// that programs cannot block each other, the executor and the tools read what a
// kind is from here; only the code that implements a kind asks which it is.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEKINDS_H
#define LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEKINDS_H

#include <cstdint>
#include <span>

namespace lockstep::artifact {
// As in the schema; what reads the table does not need FlatBuffers.
enum class CollectiveKind : uint8_t;
} // namespace lockstep::artifact

namespace lockstep::runtime {

/// The members of a group that have the operands, or get the results.
enum class Holders : uint8_t { none, root, others, all };

/// How the shape of a result follows from the operand of the same position.
enum class ShapeRule : uint8_t {
  /// There are no results.
  none,
  /// As the operand.
  same,
  /// All operands side by side along an axis, on which they may differ in size.
  concatenated,
  /// One of n equal parts of the operand along an axis, for n members.
  slice,
  /// As many rows of the operand as a second operand counts for the member.
  rows,
  /// As the operand, whose size along an axis is a multiple of the n members.
  parts,
};

/// How many bytes go over the link of one member among n, where each gives (or
/// the root gives) b bytes.
enum class Volume : uint8_t {
  /// 0.
  none,
  /// b.
  once,
  /// (n - 1) / n * b: all parts but the member's own.
  otherParts,
  /// 2 * (n - 1) / n * b: these and those that they become.
  otherPartsTwice,
  /// (n - 1) * b.
  eachOther,
};

/// What is true of all collectives of one kind.
struct CollectiveProperties {
  artifact::CollectiveKind kind;
  /// As in the textual form of the IR and in reports.
  const char *name;
  /// Operands are combined element by element, by a reduction that the
  /// collective names. Accumulators of narrow floats may be the results.
  bool isReduction;
  Holders gives, gets;
  ShapeRule shape;
  /// A member gets something of its own, not what the others get.
  bool resultsDiffer;
  /// Collectives of the same group that do not depend on each other can become
  /// one with the operands of all of them: a bucket.
  bool canBeMerged;
  /// A result may be the same bytes as its operand, for any number of members.
  bool canBeInPlace;
  /// From one of two members to the other.
  bool isPointToPoint;
  /// The collective names the member that each member gets from.
  bool hasSources;
  /// The busiest member sends or gets this much, as the executor does it, where
  /// each member is in an executor of its own (CollectiveCost.h).
  Volume wire;
  /// No way to do it has less for its busiest member.
  Volume leastWire;
  /// It is a `Start` command in artifacts; a barrier is one of its own.
  bool isStarted;

  /// One member gives to the others or gets from them.
  bool hasRoot() const {
    return gives == Holders::root || gets == Holders::root;
  }
  /// All members get the same.
  bool isSameForAll() const { return gets == Holders::all && !resultsDiffer; }
  /// The operands of all members lie side by side in a result.
  bool concatenates() const { return shape == ShapeRule::concatenated; }
  /// Bytes of one member become bytes of another as they are, and all sizes are
  /// static.
  bool isMoved() const {
    return shape == ShapeRule::parts || hasSources || isPointToPoint;
  }
  /// An axis of the operands says how results are made of them.
  bool hasAxis() const {
    return shape != ShapeRule::none && shape != ShapeRule::same;
  }

  /// The row of a kind. `kind` is in the enum, as in a verified artifact.
  static const CollectiveProperties &of(artifact::CollectiveKind kind);
  /// All rows, in the order of the enum.
  static std::span<const CollectiveProperties> all();
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEKINDS_H

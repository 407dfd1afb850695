//===- CollectiveKinds.h - the kinds of collectives, as data ----*- C++ -*-===//
//
// One row for each kind. The dialect, its passes, the artifact's verifier, the
// proof of deadlock freedom, the executor and the tools read the properties of
// a kind here; only the implementation of a kind depends on which kind it is.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEKINDS_H
#define LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEKINDS_H

#include <cstdint>
#include <span>

namespace lockstep::artifact {
// As in the schema; readers of the table do not need FlatBuffers.
enum class CollectiveKind : uint8_t;
} // namespace lockstep::artifact

namespace lockstep::runtime {

/// The members of a group that have operands, or receive results.
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
  /// Rows of the operand; a second operand holds their number for each member.
  rows,
  /// As the operand, whose size along an axis is a multiple of the n members.
  parts,
};

/// Bytes over the link of one member among n, if each member (or the root) has
/// b bytes of operands.
enum class Volume : uint8_t {
  /// 0.
  none,
  /// b.
  once,
  /// (n - 1) / n * b: all parts but the member's own.
  otherParts,
  /// 2 * (n - 1) / n * b: the parts of operands, and those of results.
  otherPartsTwice,
  /// (n - 1) * b.
  eachOther,
};

/// The properties of a kind of collectives.
struct CollectiveProperties {
  artifact::CollectiveKind kind;
  /// As in the textual form of the IR and in reports.
  const char *name;
  /// Operands are combined element by element, by a reduction that the
  /// collective names. Accumulators of narrow floats may be the results.
  bool isReduction;
  Holders operandHolders, resultHolders;
  ShapeRule shape;
  /// Results differ between members.
  bool resultsDiffer;
  /// Collectives of the same group that do not depend on each other can become
  /// one with the operands of all of them: a bucket.
  bool canBeMerged;
  /// A result may be the same bytes as its operand, for any number of members.
  bool canBeInPlace;
  /// From one of two members to the other.
  bool isPointToPoint;
  /// The collective names each member's source.
  bool hasSources;
  /// Bytes that the busiest member sends or receives in this implementation,
  /// with one member in each executor (CollectiveCost.h).
  Volume wire;
  /// The lower bound for the busiest member.
  Volume leastWire;
  /// It is a `Start` command in artifacts; barriers have their own command.
  bool isStarted;

  /// One member sends to the others or receives from them.
  bool hasRoot() const {
    return operandHolders == Holders::root || resultHolders == Holders::root;
  }
  /// All members get the same results.
  bool isSameForAll() const {
    return resultHolders == Holders::all && !resultsDiffer;
  }
  /// The operands of all members lie side by side in a result.
  bool concatenates() const { return shape == ShapeRule::concatenated; }
  /// Bytes of results are bytes of single members as they are, and all sizes
  /// are static: `Moves.cpp` says which, and every transport can execute it.
  bool isMoved() const {
    return !isReduction &&
           (shape == ShapeRule::parts ||
            (shape == ShapeRule::same && (resultsDiffer || isPointToPoint)));
  }
  /// A member exchanges bytes with one other, however many members there are.
  bool hasOnePeer() const { return isMoved() && wire == Volume::once; }
  /// Results depend on an axis of the operands.
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

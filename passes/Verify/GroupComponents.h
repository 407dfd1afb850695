//===- GroupComponents.h - Groups that share ranks --------------*- C++ -*-===//
//
// Whether divergence in a branch is safe depends on which ranks take part in
// the collectives in it. Collectives of disjoint groups are independent;
// collectives of groups that share ranks must be issued in one order by all of
// these. So the groups in a branch form a graph with an edge where two share
// ranks, and each connected component is checked separately. A group whose
// members all take the same path needs no proof: its collectives are at the
// same position in the sequence for all its members.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_GROUPCOMPONENTS_H
#define LOCKSTEP_PASSES_VERIFY_GROUPCOMPONENTS_H

#include "passes/Analysis/UniformityAnalysis.h"

namespace lockstep {

/// The members of a group; nullopt for all replicas.
using Members = std::optional<llvm::BitVector>;

/// A connected component: groups that, directly or indirectly, share ranks.
struct GroupComponent {
  /// The union of the groups.
  Members members;
  /// The groups whose members may take different paths.
  std::vector<Members> split;
  /// Two ranks of one split group that may take different paths, if their
  /// numbers are known.
  std::optional<RankPair> separated;

  bool contains(unsigned rank) const {
    return !members || (rank < members->size() && members->test(rank));
  }
  bool isSplit(const Members &group) const {
    return llvm::is_contained(split, group);
  }
};

/// True if members of a group may take different paths, where ranks in one
/// class of `partition` take the same.
bool isSplit(const Members &members, PartitionId partition,
             const UniformityAnalysis &uniformity);

/// The components, among the groups of the collectives in `op`, that contain a
/// split group.
std::vector<GroupComponent>
findComponents(mlir::Operation *op, PartitionId partition,
               const UniformityAnalysis &uniformity);

} // namespace lockstep

#endif

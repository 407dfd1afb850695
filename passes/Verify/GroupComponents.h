//===- GroupComponents.h - Groups that share ranks --------------*- C++ -*-===//
//
// Whether a branch may be gone through differently depends on who meets in it.
// Groups of which no rank is in two do not hear of each other in it; groups
// that share ranks have to be met in one order by all of them. So the groups in
// a branch are put together where they share ranks, and each such component is
// looked at alone. What a group does of which all members go the same way needs
// no proof: it stands between the others at the same place for all its members.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_GROUPCOMPONENTS_H
#define LOCKSTEP_PASSES_VERIFY_GROUPCOMPONENTS_H

#include "passes/Analysis/Uniformity.h"

namespace lockstep {

/// The members of a group; nullopt for all replicas.
using Members = std::optional<llvm::BitVector>;

/// Groups that share ranks.
struct GroupComponent {
  /// All ranks of them.
  Members members;
  /// Those of which members go different ways.
  std::vector<Members> split;
  /// Two ranks of one of these that do, if they are known by number.
  std::optional<RankPair> separated;

  bool contains(unsigned rank) const {
    return !members || (rank < members->size() && members->test(rank));
  }
  bool isSplit(const Members &group) const {
    return llvm::is_contained(split, group);
  }
};

/// True if members of a group may go different ways, of which ranks in one
/// class of `partition` go the same.
bool isSplit(const Members &members, PartitionId partition,
             const UniformityAnalysis &uniformity);

/// The components of the groups of collectives in `op` of which some group is
/// split.
std::vector<GroupComponent>
findComponents(mlir::Operation *op, PartitionId partition,
               const UniformityAnalysis &uniformity);

} // namespace lockstep

#endif

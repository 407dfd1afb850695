//===- RoleBucket.cpp - A bucket in one of several roles ------------------===//

#include "passes/Bucket/RoleBucket.h"

#include "passes/Bucket/MergeCollectives.h"

using namespace lockstep;
using namespace mlir;

/// Whether ranks of other roles than `role` take part in `op`, or in an
/// operation in it. Both sides must issue such exchanges in the same order.
static bool isWithOtherRoles(Operation *op, device::RoleOp role,
                             SymbolTableCollection &symbols) {
  return op
      ->walk([&](CollectiveOpInterface collective) {
        auto name = collective->getAttrOfType<FlatSymbolRefAttr>("group");
        auto group = name
                         ? symbols.lookupNearestSymbolFrom<collective::GroupOp>(
                               collective, name)
                         : nullptr;
        if (!group)
          return WalkResult::advance();
        // A group without a list of ranks is that of all replicas, a role.
        int64_t first = role.getFirstRank(), end = first + role.getRanks();
        ArrayRef<int64_t> ranks =
            group.getRanks().value_or(ArrayRef<int64_t>());
        bool isOwn =
            !group.getWithReplicas() && llvm::all_of(ranks, [&](int64_t rank) {
              return first <= rank && rank < end;
            });
        return isOwn ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

void RoleBucket::add(collective::StartOp start) {
  addDependents(getWait(start), dependents);
  if (!next)
    next = start->getNextNode();
}

bool RoleBucket::wouldReorderExchanges(collective::StartOp start) {
  if (!next)
    return false;
  // Operations before `start` do not depend on members that are added later,
  // so each operation is visited once.
  for (; next != start; next = next->getNextNode()) {
    bool isMoved = dependents.contains(next);
    if (!(isMoved && moves) && isWithOtherRoles(next, role, *symbols)) {
      if (!isMoved && moves)
        return true;
      moves |= isMoved;
    }
  }
  return false;
}

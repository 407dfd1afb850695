//===- GroupComponents.cpp - Groups that share ranks ----------------------===//

#include "passes/Verify/GroupComponents.h"

#include "passes/Verify/Sequence.h"

using namespace lockstep;
using namespace mlir;

bool lockstep::isSplit(const Members &members, PartitionId partition,
                       const UniformityAnalysis &uniformity) {
  if (!members)
    return partition != PartitionTable::kWhole;
  return !uniformity.isBroken(UniformityRule::GroupsTakeOnePath) &&
         uniformity.getPartitions()
             .findSeparated(partition, *members)
             .has_value();
}

/// The groups of collectives in `op`, each once.
static std::vector<Members> findGroups(Operation *op,
                                       const UniformityAnalysis &uniformity) {
  std::vector<Members> groups;
  op->walk([&](Operation *inner) {
    if (!isCollective(inner, uniformity.getSymbols()))
      return;
    Members members = uniformity.getMembers(inner);
    if (!llvm::is_contained(groups, members))
      groups.push_back(std::move(members));
  });
  return groups;
}

static bool shareRanks(const Members &lhs, const Members &rhs) {
  return !lhs || !rhs || lhs->anyCommon(*rhs);
}

std::vector<GroupComponent>
lockstep::findComponents(Operation *op, PartitionId partition,
                         const UniformityAnalysis &uniformity) {
  std::vector<GroupComponent> components;
  bool areAllSingletons = uniformity.isBroken(UniformityRule::OrdersMayDiffer);
  for (Members &group : findGroups(op, uniformity)) {
    GroupComponent joined;
    joined.members = group;
    if (isSplit(group, partition, uniformity))
      joined.split.push_back(group);
    // Merge all components that share ranks with the group.
    std::vector<GroupComponent> others;
    for (GroupComponent &component : components) {
      if (areAllSingletons || !shareRanks(component.members, group)) {
        others.push_back(std::move(component));
        continue;
      }
      llvm::append_range(joined.split, component.split);
      if (joined.members && component.members)
        *joined.members |= *component.members;
      else
        joined.members = std::nullopt;
    }
    others.push_back(std::move(joined));
    components = std::move(others);
  }
  llvm::erase_if(components, [](const GroupComponent &component) {
    return component.split.empty();
  });
  for (GroupComponent &component : components)
    for (const Members &group : component.split)
      if (!component.separated) {
        unsigned ranks = uniformity.getPartitions().getNumRanks();
        component.separated = uniformity.getPartitions().findSeparated(
            partition, group ? *group : llvm::BitVector(ranks, true));
      }
  return components;
}

//===- WholeVariables.cpp -------------------------------------------------===//

#include "runtime/executor/WholeVariables.h"

#include "runtime/schema/Types.h"

#include <algorithm>
#include <map>

namespace lockstep::runtime {

namespace {

std::string_view wholeName(const artifact::Variable &variable) {
  return variable.shard() ? variable.shard()->of()->string_view()
                          : variable.name()->string_view();
}

/// Variables of the artifact grouped by whole variable, in the order of rows.
std::vector<std::vector<const artifact::Variable *>>
groupShards(const artifact::Artifact &tables) {
  std::vector<std::vector<const artifact::Variable *>> groups;
  std::map<std::string_view, size_t> index;
  for (uint32_t i = 0; tables.variables() && i < tables.variables()->size();
       ++i) {
    const artifact::Variable *variable = tables.variables()->Get(i);
    auto [entry, isNew] = index.emplace(wholeName(*variable), groups.size());
    if (isNew)
      groups.emplace_back();
    groups[entry->second].push_back(variable);
  }
  for (auto &group : groups)
    std::ranges::sort(group, {}, [](const artifact::Variable *v) {
      return v->shard() ? v->shard()->first_row() : 0;
    });
  return groups;
}

/// The one copy of a variable whose elements are divided among the replicas of
/// `hosts`, in the order of their ranks.
WholeVariable joinReplicas(const artifact::Variable &variable,
                           std::span<const ExecutorInfo> executors,
                           const std::vector<size_t> &hosts) {
  WholeVariable whole{describeVariable(variable), {{}}};
  whole.info.perReplica = false;
  whole.info.type.shape.assign(variable.whole_shape()->begin(),
                               variable.whole_shape()->end());
  uint64_t bytesOfPart = whole.info.type.bytes,
           rest =
               *staticBytes(whole.info.type.element, *variable.whole_shape());
  whole.info.type.bytes = rest;
  // Behind the last element, the parts of the last replicas are padding.
  for (size_t executor : hosts)
    for (unsigned replica = 0; replica < executors[executor].ranks; ++replica) {
      uint64_t bytes = std::min(bytesOfPart, rest);
      whole.copies[0].push_back({executor, whole.info.name, replica, bytes});
      rest -= bytes;
    }
  return whole;
}

} // namespace

std::vector<WholeVariable>
wholeVariables(const Artifact &artifact,
               std::span<const ExecutorInfo> executors) {
  const artifact::Artifact &tables = artifact.tables();
  auto hosts = [&](const artifact::Variable &variable) {
    bool hasRoles = tables.roles() && tables.roles()->size() > 0;
    std::string_view role =
        hasRoles ? tables.roles()->Get(variable.role())->name()->string_view()
                 : workerRole;
    std::vector<size_t> found;
    for (size_t i = 0; i < executors.size(); ++i)
      if (executors[i].role == role)
        found.push_back(i);
    return found;
  };

  std::vector<WholeVariable> result;
  for (const std::vector<const artifact::Variable *> &shards :
       groupShards(tables)) {
    if (shards.front()->whole_shape()) {
      result.push_back(
          joinReplicas(*shards.front(), executors, hosts(*shards.front())));
      continue;
    }
    WholeVariable &whole = result.emplace_back();
    for (const artifact::Variable *shard : shards) {
      std::vector<size_t> found = hosts(*shard);
      VariableInfo info = describeVariable(*shard);
      if (whole.copies.empty()) {
        whole.info = info;
        whole.info.name = wholeName(*shard);
        whole.copies.resize(found.size());
      } else {
        whole.info.type.shape.front() += info.type.shape.front();
        whole.info.type.bytes += info.type.bytes;
        whole.info.hasInitial &= info.hasInitial;
      }
      // A server has one executor, so all shards of a variable have one copy.
      for (size_t copy = 0; copy < whole.copies.size(); ++copy)
        whole.copies[copy].push_back(
            {found[copy], info.name, 0, info.type.bytes});
    }
  }
  return result;
}

} // namespace lockstep::runtime

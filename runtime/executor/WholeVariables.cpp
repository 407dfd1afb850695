//===- WholeVariables.cpp -------------------------------------------------===//

#include "runtime/executor/WholeVariables.h"

#include "runtime/schema/Types.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

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

/// The one copy of a variable, or a shard, whose elements are divided among the
/// replicas of `hosts`, in the order of their ranks.
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

/// A variable, or a shard, of which each of `hosts` has a copy.
WholeVariable copyPerHost(const artifact::Variable &variable,
                          const std::vector<size_t> &hosts) {
  WholeVariable whole{describeVariable(variable), {}};
  for (size_t executor : hosts)
    whole.copies.push_back(
        {{executor, whole.info.name, 0, whole.info.type.bytes}});
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
    std::optional<WholeVariable> whole;
    for (const artifact::Variable *shard : shards) {
      WholeVariable rows = shard->whole_shape()
                               ? joinReplicas(*shard, executors, hosts(*shard))
                               : copyPerHost(*shard, hosts(*shard));
      if (!whole) {
        whole = std::move(rows);
        whole->info.name = wholeName(*shard);
        continue;
      }
      whole->info.type.shape.front() += rows.info.type.shape.front();
      whole->info.type.bytes += rows.info.type.bytes;
      whole->info.hasInitial &= rows.info.hasInitial;
      // All shards of a variable have equally many copies: one on a server,
      // which has one executor, or the parts of the replicas.
      for (size_t copy = 0; copy < whole->copies.size(); ++copy)
        std::ranges::move(rows.copies[copy],
                          std::back_inserter(whole->copies[copy]));
    }
    result.push_back(std::move(*whole));
  }
  return result;
}

} // namespace lockstep::runtime

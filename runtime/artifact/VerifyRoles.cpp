//===- VerifyRoles.cpp - roles, and the shards that they hold -------------===//

#include "runtime/artifact/Verifier.h"
#include "runtime/schema/Types.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace lockstep::runtime::verify {

Status verifyRoles(const artifact::Artifact &artifact) {
  if (!count(artifact.roles()))
    return Status::success();
  if (artifact.variable_size() || artifact.replica_variable_size())
    return corrupted(
        "sizes of variables are given by the artifact and by its roles");
  std::set<std::string_view> names;
  std::vector<const artifact::Role *> byRank(artifact.roles()->begin(),
                                             artifact.roles()->end());
  for (const artifact::Role *role : byRank) {
    std::string_view name = role->name()->string_view();
    if (name.empty() || !names.insert(name).second)
      return corrupted(
          fmt::format("role '{}': the name is empty or given twice", name));
    if (role->ranks() == 0 || role->ranks() > maxReplicas ||
        role->first_rank() > maxReplicas)
      return corrupted(
          fmt::format("role '{}': expected 1 to {} ranks, found {} from {}",
                      name, maxReplicas, role->ranks(), role->first_rank()));
    for (uint64_t size : {role->variable_size(), role->replica_variable_size()})
      if (size > maxMemory / role->ranks())
        return corrupted(fmt::format(
            "role '{}': a memory of {} bytes is too large", name, size));
  }
  std::sort(byRank.begin(), byRank.end(),
            [](const artifact::Role *a, const artifact::Role *b) {
              return a->first_rank() < b->first_rank();
            });
  if (byRank.front()->first_rank() != 0 ||
      byRank.front()->ranks() != artifact.replicas())
    return corrupted(fmt::format("role '{}': expected the first role to have "
                                 "the {} replicas, found {} ranks from {}",
                                 byRank.front()->name()->string_view(),
                                 artifact.replicas(), byRank.front()->ranks(),
                                 byRank.front()->first_rank()));
  for (size_t i = 1; i < byRank.size(); ++i) {
    uint64_t end =
        uint64_t(byRank[i - 1]->first_rank()) + byRank[i - 1]->ranks();
    if (byRank[i]->first_rank() != end ||
        end + byRank[i]->ranks() > maxReplicas)
      return corrupted(fmt::format(
          "role '{}': expected its ranks to begin at {}, behind those of role "
          "'{}', and to end below {}, found {} from {}",
          byRank[i]->name()->string_view(), end,
          byRank[i - 1]->name()->string_view(), maxReplicas, byRank[i]->ranks(),
          byRank[i]->first_rank()));
  }
  return Status::success();
}

namespace {

/// The shape of a variable or a shard; of one whose elements are divided among
/// the replicas, that of all of them.
std::vector<int64_t> shapeOf(const artifact::Variable &variable) {
  const auto *shape = variable.whole_shape() ? variable.whole_shape()
                                             : variable.type()->shape();
  return shape ? std::vector<int64_t>(shape->begin(), shape->end())
               : std::vector<int64_t>();
}

/// The common properties of a variable's shards; `rows` is the sum over all
/// shards, `dimensions` are those after the first.
struct ShardType {
  uint64_t rows;
  artifact::ElementType element;
  std::vector<int64_t> dimensions;
  bool isDivided;
  /// That whose ranks have the parts, if the shards are divided.
  uint32_t role;
  artifact::Space space;
  artifact::Synchronization synchronization;
  artifact::Aggregation aggregation;
  bool operator==(const ShardType &) const = default;
};

ShardType typeOfShard(const artifact::Variable &variable) {
  ShardType type{variable.shard()->rows(),
                 variable.type()->element(),
                 shapeOf(variable),
                 variable.whole_shape() != nullptr,
                 variable.whole_shape() ? variable.role() : 0,
                 variable.space(),
                 variable.synchronization(),
                 variable.aggregation()};
  type.dimensions.erase(type.dimensions.begin());
  return type;
}

/// Ranks of the role that a variable belongs to.
uint32_t ranksOf(const artifact::Artifact &artifact,
                 const artifact::Variable &variable) {
  return count(artifact.roles())
             ? artifact.roles()->Get(variable.role())->ranks()
             : artifact.replicas();
}

} // namespace

Status verifyShards(const artifact::Artifact &artifact) {
  std::map<std::string_view, std::vector<const artifact::Variable *>> shardsOf;
  std::set<std::string_view> whole;
  for (uint32_t i = 0; i < count(artifact.variables()); ++i) {
    const artifact::Variable *variable = artifact.variables()->Get(i);
    if (!variable->shard()) {
      whole.insert(variable->name()->string_view());
      continue;
    }
    if (shapeOf(*variable).empty())
      return corrupted(
          fmt::format("variable '{}': expected a shard of rows, found a scalar",
                      variable->name()->string_view()));
    shardsOf[variable->shard()->of()->string_view()].push_back(variable);
  }
  for (auto &[name, shards] : shardsOf) {
    if (name.empty() || whole.count(name))
      return corrupted(fmt::format(
          "variable '{}' has shards and an empty name, or is whole as well",
          name));
    std::sort(shards.begin(), shards.end(),
              [](const artifact::Variable *a, const artifact::Variable *b) {
                return a->shard()->first_row() < b->shard()->first_row();
              });
    uint64_t next = 0;
    for (const artifact::Variable *shard : shards) {
      if (shard->shard()->first_row() != next)
        return corrupted(fmt::format(
            "variable '{}': expected shard '{}' to begin at row {}, found {}",
            name, shard->name()->string_view(), next,
            shard->shard()->first_row()));
      next += uint64_t(shapeOf(*shard).front());
      // With one rank, each shard exists once for any division of ranks among
      // executors, and so does one that is divided among the ranks.
      if (uint32_t ranks = ranksOf(artifact, *shard);
          ranks != 1 && !shard->whole_shape())
        return corrupted(fmt::format("variable '{}': expected shard '{}' with "
                                     "a role of one rank, found one of {}",
                                     name, shard->name()->string_view(),
                                     ranks));
      if (!(typeOfShard(*shard) == typeOfShard(*shards.front())))
        return corrupted(fmt::format("variable '{}': shards '{}' and '{}' "
                                     "differ in more than their first rows",
                                     name,
                                     shards.front()->name()->string_view(),
                                     shard->name()->string_view()));
    }
    if (next != shards.front()->shard()->rows())
      return corrupted(fmt::format(
          "variable '{}': expected its shards to cover {} rows, found {}", name,
          shards.front()->shard()->rows(), next));
  }
  return Status::success();
}

} // namespace lockstep::runtime::verify

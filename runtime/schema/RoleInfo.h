//===- RoleInfo.h - kinds of processes of an artifact -----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SCHEMA_ROLEINFO_H
#define LOCKSTEP_RUNTIME_SCHEMA_ROLEINFO_H

#include "runtime/schema/artifact_generated.h"
#include "runtime/support/RankRange.h"

#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

/// A role of an artifact, or its only role if it names none.
struct RoleInfo {
  std::string_view name = "worker";
  RankRange ranks;
  uint64_t variableSize = 0, replicaVariableSize = 0;
};

/// In the order of `Artifact.roles`, to which `Variable.role` refers.
inline std::vector<RoleInfo> rolesOf(const artifact::Artifact &tables) {
  if (!tables.roles() || tables.roles()->size() == 0)
    return {{"worker",
             {0, tables.replicas()},
             tables.variable_size(),
             tables.replica_variable_size()}};
  std::vector<RoleInfo> roles;
  for (const artifact::Role *role : *tables.roles())
    roles.push_back({role->name()->string_view(),
                     {role->first_rank(), role->ranks()},
                     role->variable_size(),
                     role->replica_variable_size()});
  return roles;
}

/// Whether several workers can take steps independently with shared servers:
/// there is one replica, and all variables are in the memory of servers. Then
/// other workers may change variables whenever a step waits.
inline bool canShareServers(const artifact::Artifact &tables) {
  if (tables.replicas() != 1 || rolesOf(tables).size() < 2)
    return false;
  for (uint32_t i = 0; tables.variables() && i < tables.variables()->size();
       ++i)
    if (const artifact::Variable *variable = tables.variables()->Get(i);
        variable->role() == 0 || variable->space() != artifact::Space::variable)
      return false;
  return true;
}

/// The ranks of a group, ascending.
inline std::vector<uint32_t> ranksOf(const artifact::Artifact &tables,
                                     uint32_t group) {
  const auto *listed = tables.groups()->Get(group)->ranks();
  if (listed && listed->size() > 0)
    return {listed->begin(), listed->end()};
  std::vector<uint32_t> replicas(tables.replicas());
  std::iota(replicas.begin(), replicas.end(), 0u);
  return replicas;
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SCHEMA_ROLEINFO_H

//===- WholeVariables.h - variables of a cluster ----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_WHOLEVARIABLES_H
#define LOCKSTEP_RUNTIME_EXECUTOR_WHOLEVARIABLES_H

#include "runtime/executor/Cluster.h"

#include <memory>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// The role of replicas.
inline constexpr std::string_view workerRole = "worker";

/// A variable of a model, with all of its shards.
struct WholeVariable {
  /// A part in one executor.
  struct Part {
    size_t executor;
    /// Name in the artifact; a shard of a server has its own.
    std::string name;
    /// The replica of the executor that holds the part, if the elements are
    /// divided among replicas.
    unsigned replica = 0;
    /// Of the variable's elements: less than the replica stores where the rest
    /// is padding.
    uint64_t bytes = 0;
  };

  VariableInfo info;
  /// For each copy, the parts in the order of their elements.
  std::vector<std::vector<Part>> copies;
};

/// The variables of an artifact, in its order, a sharded one at the position of
/// its first shard. Each executor of the workers has a copy of the workers'
/// variables, except for those that are divided among the replicas.
std::vector<WholeVariable>
wholeVariables(const Artifact &artifact,
               std::span<const ExecutorInfo> executors);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_WHOLEVARIABLES_H

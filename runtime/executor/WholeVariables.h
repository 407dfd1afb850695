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
    /// Name in the artifact; a shard has its own.
    std::string name;
  };

  VariableInfo info;
  /// For each copy, the parts in the order of their rows.
  std::vector<std::vector<Part>> copies;
};

/// The variables of an artifact, in its order, a sharded one at the position of
/// its first shard. Each executor of the workers has a copy of the workers'
/// variables.
std::vector<WholeVariable>
wholeVariables(const Artifact &artifact,
               std::span<const ExecutorInfo> executors);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_WHOLEVARIABLES_H

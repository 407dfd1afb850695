//===- WholeVariables.h - variables wherever they live ----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_WHOLEVARIABLES_H
#define LOCKSTEP_RUNTIME_EXECUTOR_WHOLEVARIABLES_H

#include "runtime/executor/Cluster.h"

#include <memory>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// The role of replicas.
inline constexpr std::string_view workerRole = "worker";

/// A variable as users know it.
struct WholeVariable {
  /// What one executor has of it.
  struct Part {
    size_t executor;
    /// In the artifact: of a shard, its own.
    std::string name;
  };

  VariableInfo info;
  /// The parts in the order of their rows; the same again for each other
  /// executor that has a copy.
  std::vector<std::vector<Part>> copies;
};

/// The variables of an artifact, in its order, a sharded one where its first
/// shard is. One of the workers is copied by each of their executors.
std::vector<WholeVariable>
wholeVariables(const Artifact &artifact,
               std::span<const ExecutorInfo> executors);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_WHOLEVARIABLES_H

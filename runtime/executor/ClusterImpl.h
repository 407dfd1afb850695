//===- ClusterImpl.h - state of a cluster -----------------------*- C++ -*-===//
//
// ClusterSetup.cpp constructs it from an artifact and options, Cluster.cpp uses
// it.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_CLUSTERIMPL_H
#define LOCKSTEP_RUNTIME_EXECUTOR_CLUSTERIMPL_H

#include "runtime/executor/Cluster.h"
#include "runtime/executor/LocalSessions.h"
#include "runtime/executor/WholeVariables.h"
#include "runtime/schema/RoleInfo.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// For each executor, its part of a program of the cluster.
using ProgramParts = std::vector<std::optional<ProgramId>>;

/// A replica's part of a program, and the session that executes it.
struct ReplicaPart {
  Session *session;
  ProgramId program;
  /// The session's index of the replica.
  unsigned replica;
};

class Cluster::Impl {
public:
  Status initialize(std::shared_ptr<const Artifact> given,
                    ClusterOptions options);

  void describeExecutors(unsigned executors);
  Status connect(SessionOptions &options);
  Status createSessions(const ClusterOptions &options);
  Status createLocalSessions(const SessionOptions &options);
  void describePrograms();
  Status checkBatches(ProgramId program) const;

  const artifact::Artifact &tables() const { return artifact->tables(); }
  /// The executor that has a rank; `executors.size()` if none has.
  size_t executorOf(unsigned rank) const {
    auto has = [&](const ExecutorInfo &executor) {
      return rank >= executor.firstRank &&
             rank - executor.firstRank < executor.ranks;
    };
    return size_t(std::find_if(executors.begin(), executors.end(), has) -
                  executors.begin());
  }
  /// A replica's part of a program; nothing if one of them does not exist or is
  /// in another process, or if the program is not for replicas.
  std::optional<ReplicaPart> partOf(ProgramId program, unsigned replica) const;
  /// The error of a replica for which `partOf` returns nothing.
  Status whyNoPart(ProgramId program, unsigned replica) const;
  /// The parts of a program in the executors of this process.
  ProgramParts partsHere(ProgramId program) const;

  std::shared_ptr<const Artifact> artifact;
  std::string traceFile;
  bool inCoordinator = false;
  unsigned workerExecutors = 1;
  std::vector<ExecutorInfo> executors;
  /// By executor; null for those in other processes.
  std::vector<std::unique_ptr<Session>> sessions;
  /// The sessions of this process.
  std::vector<Session *> present;

  std::vector<VariableInfo> variables;
  std::vector<WholeVariable> places;
  std::vector<ProgramInfo> programs;
  std::vector<ProgramParts> parts;
  /// Number of batches bound to each replica, for programs that load them.
  std::vector<std::vector<size_t>> batchCounts;
  uint64_t runs = 0;
  /// By executor, as `sessions`; empty with one executor, which sends nothing.
  std::vector<std::shared_ptr<Network>> endpointOf;
  /// Null with one executor, which the cluster runs directly.
  std::unique_ptr<LocalSessions> localSessions;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_CLUSTERIMPL_H

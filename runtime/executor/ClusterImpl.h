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
#include "runtime/support/ProcessPlace.h"
#include "runtime/transport/Network.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
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

  void describeExecutors();
  Status connect(const SessionOptions &options);
  Status createSessions(const ClusterOptions &options);
  Status createLocalSessions(const SessionOptions &options);
  void describePrograms();
  Status checkBatches(ProgramId program);

  // Between processes (ClusterProcesses.cpp).
  bool isWhole() const { return place.count == 1; }
  bool isHere(const WholeVariable::Part &part) const {
    return executors[part.executor].isHere;
  }
  void postTo(std::optional<uint32_t> executor, std::string_view topic,
              std::string text);
  /// The executors that post for their processes, in the order of these.
  std::vector<uint32_t> speakers() const;
  Network &ownSpeaker() const {
    return *endpointOf[executorOf(firstReplicaHere())];
  }
  Expected<std::vector<std::string>> collect(std::string_view topic,
                                             std::string_view what);
  /// The numbers of batches of all replicas, of which those here are known.
  Status collectCounts(ProgramId program, std::vector<size_t> &counts);
  /// The places of a variable's value: of `replica`, or its copies.
  std::vector<std::vector<WholeVariable::Part>>
  placesOf(const WholeVariable &variable, unsigned replica) const;
  /// The parts of variables that the first process has no copy of.
  std::vector<WholeVariable::Part> partsElsewhere() const;
  /// The first process's copy of a part of another process.
  std::span<std::byte> copyOf(const WholeVariable::Part &part);

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
  /// The part that has an output of a replica.
  std::optional<ReplicaPart> partWithOutput(ProgramId program, unsigned output,
                                            unsigned replica) const;
  /// Each process has some.
  unsigned firstReplicaHere() const;
  /// The error of a replica for which `partOf` returns nothing.
  Status whyNoPart(ProgramId program, unsigned replica) const;
  /// The parts of a program in the executors of this process.
  ProgramParts partsHere(ProgramId program) const;

  std::shared_ptr<const Artifact> artifact;
  std::string traceFile;
  bool inCoordinator = false;
  ProcessPlace place;
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
  /// By topic, the numbers of calls of `post` and `collect`.
  std::map<std::string, uint64_t, std::less<>> posts, collections;
  std::atomic<uint64_t> beats{0};
  /// A value of a replica of another process.
  struct RemoteOutput {
    std::vector<int64_t> shape;
    std::string bytes;
  };
  /// By program, output and replica.
  std::map<std::tuple<ProgramId, unsigned, unsigned>, RemoteOutput>
      remoteOutputs;
  /// By executor, name and replica of the part.
  std::map<std::tuple<size_t, std::string, unsigned>, std::vector<std::byte>>
      remoteVariables;
  /// Null with one executor, which the cluster runs directly.
  std::unique_ptr<LocalSessions> localSessions;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_CLUSTERIMPL_H

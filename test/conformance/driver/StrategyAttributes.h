//===- StrategyAttributes.h - attributes of a strategy ----------*- C++ -*-===//
//
// The attributes of a process's strategy (reference, section 1.3). They depend
// only on the strategy's properties and the process.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_STRATEGYATTRIBUTES_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_STRATEGYATTRIBUTES_H

#include "dialect/Replica/Strategy.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::replica {

/// The processes that work together, and which of them one is.
struct ClusterTask {
  int64_t workers = 1, servers = 0;
  /// "worker" or "ps", and its number among those.
  std::string type;
  int64_t index = 0;
};

struct StrategyAttributes {
  /// The devices of the replicas of this process, and of its variables;
  /// nothing: the default strategy, which has no devices of its own.
  std::optional<std::vector<std::string>> workerDevices, parameterDevices;
  /// The devices of state that belongs to several variables; nothing: that of
  /// the variable whose name comes first.
  std::optional<std::vector<std::string>> nonSlotDevices;
  /// Devices of a replica are a list for each part of a group that it could
  /// have.
  bool groupsDevices = false;
  /// Processes build separate programs. The default strategy does not define
  /// this, nor whether it initializes.
  std::optional<bool> isBetweenGraph, shouldInit;
  bool requiresStaticShapes = false;
  bool shouldCheckpoint = true, shouldSaveSummary = true;
  int64_t replicas = 1, localReplicas = 1;
  /// Nothing: one process by itself. Addresses are the transport's.
  std::optional<ClusterTask> task;
  /// As in TensorFlow 2.21: the workers of servers have a task, but no resolver
  /// (section 1.3).
  bool hasClusterResolver = false;
  /// The Python class of its variables.
  std::string variableType;

  /// Of process `worker` of `workers`. They have `replicas` together, or
  /// `replicas` each where no collective crosses workers.
  static StrategyAttributes of(Kind kind, int64_t replicas, int64_t workers,
                               int64_t worker, int64_t servers = 0);

  /// `ReplicaContext.devices` of replica `replica` of this process. The default
  /// strategy's replica is on the device of its caller.
  std::string getReplicaDevice(int64_t replica) const;
  /// Whether state that belongs to `variables` is on the device of one of them,
  /// and then of which.
  std::optional<llvm::StringRef>
  getNonSlotVariable(llvm::ArrayRef<std::string> variables) const;
};

} // namespace lockstep::replica

#endif

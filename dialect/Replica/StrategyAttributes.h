//===- StrategyAttributes.h - What a strategy says of itself ----*- C++ -*-===//
//
// What a process answers when it is asked about its strategy (reference, section 1.3). All of it follows from the strategy's
// properties and from which process it is.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REPLICA_STRATEGYATTRIBUTES_H
#define LOCKSTEP_DIALECT_REPLICA_STRATEGYATTRIBUTES_H

#include "dialect/Replica/Strategy.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::replica {

struct StrategyAttributes {
  /// Where the replicas of this process are, and its variables; nothing: the default strategy, which has no devices of its own.
  std::optional<std::vector<std::string>> workerDevices, parameterDevices;
  /// Where what belongs to several variables lives; nothing: with the one whose name comes first.
  std::optional<std::vector<std::string>> nonSlotDevices;
  /// Devices of a replica are a list for each part of a group that it could have.
  bool groupsDevices = false;
  /// Processes build programs of their own. The default strategy does not say, nor whether it initializes.
  std::optional<bool> isBetweenGraph, shouldInit;
  bool requiresStaticShapes = false;
  bool shouldCheckpoint = true, shouldSaveSummary = true;
  int64_t replicas = 1, localReplicas = 1;
  bool hasClusterResolver = false;
  /// The Python class of its variables.
  std::string variableType;

  /// Of process `worker` of `workers`. They have `replicas` together, or `replicas` each where no collective crosses workers.
  static StrategyAttributes of(Kind kind, int64_t replicas, int64_t workers, int64_t worker);
};

} // namespace lockstep::replica

#endif

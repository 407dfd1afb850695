//===- Strategy.h - What the strategies are ---------------------*- C++ -*-===//
//
// A strategy is data: where variables live, which rules hold for them, what a reduction of one replica does, what a process
// answers about itself. Passes ask for these properties and never for the name of a strategy (reference, sections 1.3 to 5).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REPLICA_STRATEGY_H
#define LOCKSTEP_DIALECT_REPLICA_STRATEGY_H

#include "dialect/Replica/ReplicaDialect.h"

namespace lockstep::replica {

/// Where a variable lives.
enum class Placement {
  /// With the only replica.
  Single,
  /// A copy with every replica.
  Mirrored,
  /// One copy, with an owner that is not a replica.
  Owner,
};

struct StrategyProperties {
  Kind kind;
  Placement placement;
  /// Has one replica by its nature: its collectives give values back as they are, and check nothing.
  bool isSingle;
  /// Several processes, each with replicas of its own.
  bool hasSeveralWorkers;
  /// `synchronization = on_read` gives every replica a copy; otherwise it is as `on_write`.
  bool honoursOnRead;
  /// `synchronization = none` and integer variables with aggregation `mean` are errors where they are declared.
  bool checksDeclarations;

  static const StrategyProperties &of(Kind kind);
  /// Of the module's strategy; the single default one if it has none.
  static const StrategyProperties &of(mlir::ModuleOp module);

};

/// What files say of a variable's aggregation: how its copies become one value. Copies that are equal need none.
Aggregation getStoredAggregation(VariableOp variable);

} // namespace lockstep::replica

#endif

//===- Strategy.h - What the strategies are ---------------------*- C++ -*-===//
//
// A strategy is data: where variables live, which rules hold for them, what a
// reduction of one replica does, what a process answers about itself. Passes
// ask for these properties and never for the name of a strategy (reference,
// sections 1.3 to 5).
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
  /// One copy, on a server or split over several of them.
  Servers,
};

/// Which of the processes with replicas do what is to be done for all of them.
enum class Doers {
  EachProcess,
  FirstProcess,
};

struct StrategyProperties {
  Kind kind;
  Placement placement;
  /// What there is where the user named no strategy: it has no devices of its
  /// own.
  bool isImplicit;
  /// Has one replica by its nature: its collectives give values back as they
  /// are, and check nothing.
  bool isSingle;
  /// Several processes, each with replicas of its own.
  bool hasSeveralWorkers;
  /// A step is one of all workers, whose replicas are counted together;
  /// otherwise each worker takes steps of its own.
  bool collectivesCrossWorkers;
  /// Who gives variables their initial values, and who writes checkpoints and
  /// summaries.
  Doers initializers, checkpointers;
  /// `synchronization = on_read` gives every replica a copy; otherwise it is as
  /// `on_write`.
  bool honoursOnRead;
  /// `synchronization = none` and integer variables with aggregation `mean` are
  /// errors where they are declared.
  bool checksDeclarations;

  static const StrategyProperties &of(Kind kind);
  /// Of the module's strategy; the single default one if it has none.
  static const StrategyProperties &of(mlir::ModuleOp module);

  /// Variables have one copy, which belongs to no replica.
  bool hasOwners() const {
    return placement == Placement::Owner || placement == Placement::Servers;
  }
};

/// What files say of a variable's aggregation: how its copies become one value.
/// Copies that are equal need none.
Aggregation getStoredAggregation(VariableOp variable);

} // namespace lockstep::replica

#endif

//===- Strategy.h - The properties of the strategies ------------*- C++ -*-===//
//
// A strategy is data: the placement of variables, the rules that hold for them,
// the meaning of collectives of one replica, and the responsibilities of
// processes. Passes query these properties and never the name of a strategy
// (reference, sections 1.3 to 5).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REPLICA_STRATEGY_H
#define LOCKSTEP_DIALECT_REPLICA_STRATEGY_H

#include "dialect/Replica/ReplicaDialect.h"

namespace lockstep::replica {

/// The attribute of a captured module with the number of replicas that its
/// steps were traced for, an i64; absent if they are open in it.
constexpr llvm::StringLiteral kCapturedReplicas = "replica.captured_replicas";

/// Where the copies of a variable are stored.
enum class Placement {
  /// One copy, with the only replica.
  Single,
  /// A copy with every replica.
  Mirrored,
  /// One copy, with an owner that is not a replica.
  Owner,
  /// One copy, on a server or split over several of them.
  Servers,
};

/// The processes with replicas that are responsible for a task.
enum class ResponsibleProcesses {
  EachProcess,
  FirstProcess,
};

struct StrategyProperties {
  Kind kind;
  Placement placement;
  /// The strategy of a program in which the user named none: it selects no
  /// devices.
  bool isImplicit;
  /// Always has one replica: its collectives return values unchanged, without
  /// checks.
  bool isSingle;
  /// Has several processes, each with its own replicas.
  bool hasSeveralWorkers;
  /// All workers execute each step together, and collectives include the
  /// replicas of all of them; otherwise each worker executes steps
  /// independently.
  bool collectivesCrossWorkers;
  /// The processes that initialize variables, and those that write checkpoints
  /// and summaries.
  ResponsibleProcesses initializers, checkpointers;
  /// `synchronization = on_read` means one copy per replica; otherwise it means
  /// the same as `on_write`.
  bool honoursOnRead;
  /// `synchronization = none` and integer variables with aggregation `mean` are
  /// errors where they are declared.
  bool checksDeclarations;

  static const StrategyProperties &of(Kind kind);
  /// The properties of the module's strategy; those of `Kind::Default` if it
  /// has none.
  static const StrategyProperties &of(mlir::ModuleOp module);

  /// Variables have one copy, which belongs to no replica.
  bool hasOwners() const {
    return placement == Placement::Owner || placement == Placement::Servers;
  }
};

/// The aggregation of a variable as stored in files: how to combine its copies
/// into one value. Copies that are equal need none.
Aggregation getStoredAggregation(VariableOp variable);

} // namespace lockstep::replica

#endif

//===- ServerRows.h - Rows of a table that a server has ---------*- C++ -*-===//
//
// Replicas ask a server for the rows that they need, and give it the rows that
// change: what is exchanged is as much as there are rows, not as much as the
// table is large.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_LOWER_SERVERROWS_H
#define LOCKSTEP_PASSES_LOWER_SERVERROWS_H

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Replica/ReplicaDialect.h"

namespace lockstep {

/// Builds the exchanges of the replicas with the server that has a variable.
/// They are collectives with that server as the root; their results, where they
/// are the server's, stand for what the server alone has (see `split-roles`).
class ServerRows {
public:
  /// `group` names the group of all replicas.
  ServerRows(mlir::OpBuilder &builder, mlir::Location loc,
             replica::VariableOp variable, mlir::StringAttr group,
             int64_t replicas);

  /// The rows that this replica's `ids` name, one after the other; zeros for an
  /// id outside of the table. Error: no bound for the number of ids.
  llvm::FailureOr<mlir::Value> lookUp(mlir::Value table, mlir::Value ids);

  /// Slices of all replicas at the server, one after the other.
  struct Slices {
    mlir::Value values, indices;
    /// How many rows there are, and how many of them are replica 0's: indices.
    mlir::Value total, first;
  };
  /// What the replicas give of their slices: the rows that are in the table.
  /// Error: no bound for the number of slices.
  llvm::FailureOr<Slices> gather(mlir::Value values, mlir::Value indices);

private:
  /// The ids that are in the table.
  struct Selected {
    /// Them, in order, and where each stands among all ids: as many as `count`,
    /// an index.
    mlir::Value ids, sources, count;
    /// For each of all ids, where it stands among the selected, or -1.
    mlir::Value positions;
    /// The most ids that there can be.
    int64_t bound;
  };
  llvm::FailureOr<Selected> select(mlir::Value ids);
  /// Each replica's count at the server, their sum, and that of replica 0.
  struct Counts {
    mlir::Value all, total, first;
  };
  Counts gatherCounts(mlir::Value count);
  mlir::Value gatherRows(mlir::Value rows, mlir::Value total, int64_t bound);
  mlir::Value exchange(collective::Kind kind, mlir::ValueRange inputs,
                       mlir::RankedTensorType result, mlir::ValueRange sizes,
                       int64_t bound);
  mlir::Value takeFirst(mlir::Value buffer, mlir::Value count);
  mlir::Value constant(int64_t value);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::StringAttr group;
  int64_t replicas, server, rows;
};

} // namespace lockstep

#endif

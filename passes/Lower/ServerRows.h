//===- ServerRows.h - Exchange rows of a table with a server ----*- C++ -*-===//
//
// Replicas request from a server the rows that they need, and send it the rows
// that change: the communicated bytes are proportional to the number of these
// rows, not to the size of the table.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_LOWER_SERVERROWS_H
#define LOCKSTEP_PASSES_LOWER_SERVERROWS_H

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Replica/ReplicaDialect.h"

namespace lockstep {

/// Builds the communication of the replicas with the server that holds a
/// variable: collectives with that server as the root. Results of gathers are
/// values that exist on the server only (see `split-roles`).
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
    /// The number of all rows, and of those of replica 0: indices.
    mlir::Value total, first;
  };
  /// Sends the slices of the replicas, as far as their indices are in the
  /// table, to the server. Error: no bound for the number of slices.
  llvm::FailureOr<Slices> gather(mlir::Value values, mlir::Value indices);

private:
  /// The ids that are in the table.
  struct Selected {
    /// The selected ids in order, their positions among all ids, and their
    /// number, an index.
    mlir::Value ids, sources, count;
    /// For each of all ids, its position among the selected, or -1.
    mlir::Value positions;
    /// An upper bound of the number of ids.
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

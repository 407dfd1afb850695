//===- ReplicaCollectives.h - Collectives of all replicas -------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_REPLICACOLLECTIVES_H
#define LOCKSTEP_PASSES_LOWER_REPLICACOLLECTIVES_H

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Replica/ReplicaDialect.h"

namespace lockstep {

/// Builds the communication of all replicas with each other. With one replica
/// nothing is communicated: the results are computed from the operands.
class ReplicaCollectives {
public:
  /// `group` names the group of all replicas; it may be null for one replica.
  ReplicaCollectives(mlir::OpBuilder &builder, mlir::StringAttr group,
                     int64_t replicas)
      : builder(builder), group(group), replicas(replicas) {}

  /// Reduction of `operand` over all replicas, in elements of type `element`.
  mlir::Value reduce(mlir::Location loc, replica::Reduction reduction,
                     mlir::Value operand, mlir::Type element,
                     int64_t bytesPerPack = 0);

  /// The value of replica 0.
  mlir::Value broadcast(mlir::Location loc, mlir::Value value);

  /// Concatenates the values of all replicas along `axis`. `total` is the
  /// number of rows if it is dynamic. With one replica this is the value.
  mlir::Value gather(mlir::Location loc, mlir::Value value, int64_t axis,
                     mlir::RankedTensorType resultType, mlir::Value total);

  /// The sums over all replicas of `counts`, which are indices.
  llvm::SmallVector<mlir::Value> addCounts(mlir::Location loc,
                                           mlir::ValueRange counts);

  /// Rows, and their row indices in the whole tensor.
  struct Slices {
    mlir::Value values, indices;
    /// The number of valid rows, an index.
    mlir::Value count;
  };
  /// The slices of all replicas, one after the other. If `onlyFirst`, only
  /// those of replica 0 are valid: `count` is their number. [2.1-slices]
  Slices gatherSlices(mlir::Location loc, Slices own, bool onlyFirst);

private:
  /// Starts a collective over all ranks and waits for it. `sizes` are those of
  /// the results' dynamic dimensions.
  mlir::ValueRange
  communicate(mlir::Location loc, collective::Kind kind,
              collective::Reduction reduction, mlir::ValueRange operands,
              mlir::TypeRange results, mlir::IntegerAttr axis = {},
              int64_t bytesPerPack = 0, mlir::ValueRange sizes = {});
  /// Gathers the `counts` (indices) of all replicas: a row for each replica.
  mlir::Value exchangeCounts(mlir::Location loc, mlir::ValueRange counts);
  /// The sums of the columns of `counts`, as indices.
  llvm::SmallVector<mlir::Value> addColumns(mlir::Location loc,
                                            mlir::Value counts);

  mlir::OpBuilder &builder;
  mlir::StringAttr group;
  int64_t replicas;
};

} // namespace lockstep

#endif // LOCKSTEP_PASSES_LOWER_REPLICACOLLECTIVES_H

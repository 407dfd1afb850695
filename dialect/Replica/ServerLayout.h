//===- ServerLayout.h - The placement of variables on servers ---*- C++ -*-===//
//
// Variables of a strategy with parameter servers, split and placed by the rules
// of `runtime/model` (reference, section 8).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REPLICA_SERVERLAYOUT_H
#define LOCKSTEP_DIALECT_REPLICA_SERVERLAYOUT_H

#include "dialect/Replica/ReplicaDialect.h"

namespace lockstep::replica {

/// Consecutive rows of a variable, on one server. A scalar has one row.
struct VariableShard {
  int64_t firstRow, rows;
  unsigned server;
};

/// The placement of a variable: its shards in the order of their rows, which
/// cover it without gaps.
struct PlacedVariable {
  VariableOp variable;
  llvm::SmallVector<VariableShard, 1> shards;

  bool isWhole() const { return shards.size() == 1; }
};

/// The variables of `module` in its order, each with its shards. Empty if the
/// strategy has no servers; an error if the number of servers is not set yet.
llvm::FailureOr<std::vector<PlacedVariable>>
computeLayout(mlir::ModuleOp module);

} // namespace lockstep::replica

#endif

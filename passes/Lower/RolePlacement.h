//===- RolePlacement.h - Which role computes what ---------------*- C++ -*-===//
//
// A step in collective form is one program that all roles execute together. This finds the part of each: where every value is
// computed, and where else it is needed.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_LOWER_ROLEPLACEMENT_H
#define LOCKSTEP_PASSES_LOWER_ROLEPLACEMENT_H

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Verify/Uniformity.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace lockstep {

/// A role, as a number: 0 for the replicas, 1 and so on for the servers.
using Role = unsigned;
constexpr Role kReplicas = 0;

/// An exchange between all replicas and a server.
struct Exchange {
  collective::Kind kind;
  Role server;
  /// The server has the operands and the replicas the results, or the other way round.
  bool serverGives;

  bool gives(Role role) const { return (role == server) == serverGives; }
};

/// The parts of one step.
///
/// A variable of a server, and what is computed from it to become its next value, is *at home* with that server; what replicas
/// compute from their batches is at home with them. What depends on constants and host scalars alone is at home everywhere, and so are
/// single numbers: whoever needs it computes it. A value at home in one place and needed in another is *transferred*. A sum over the replicas that a server
/// needs is reduced to it. Of control flow, a role executes what there is of its part.
class RolePlacement {
public:
  /// Errors, at the operations: a server needs a value that may differ between replicas, or one of dynamic size; control flow that
  /// replicas may go through differently holds a server's part.
  static llvm::FailureOr<RolePlacement> compute(mlir::func::FuncOp step, const UniformityAnalysis &uniformity, Role roles, int64_t replicas);

  /// Whether the role has the value: computes it, or is given it.
  bool has(Role role, mlir::Value value) const;
  bool executes(Role role, mlir::Operation *op) const;
  /// The role that computes a value; nothing: everyone who needs it.
  std::optional<Role> getHome(mlir::Value value) const;
  /// The roles that are given a value by its home, ascending.
  llvm::SmallVector<Role> getTransfers(mlir::Value value) const;
  /// What a server has to do with a collective; nothing if it is among the replicas. A collective with a root is with that server. Of a sum
  /// or a gather over all replicas whose result a server needs, the result is for that server alone.
  std::optional<Exchange> getExchange(collective::StartOp start) const;
  /// Whether the role has a part in the step at all.
  bool takesPart(Role role) const;

private:
  friend class RolePlacer;
  /// Values without an entry are at home everywhere.
  llvm::DenseMap<mlir::Value, Role> homes;
  llvm::DenseMap<mlir::Value, llvm::SmallBitVector> holders;
  llvm::DenseMap<mlir::Operation *, llvm::SmallBitVector> executors;
  /// In the order in which they are found, by their starts.
  llvm::MapVector<mlir::Operation *, Exchange> exchanges;
};

/// The same exchange as `start`, of one operand.
collective::StartOp createWithOperand(mlir::OpBuilder &builder, collective::StartOp start, mlir::Value operand, mlir::Type result);

} // namespace lockstep

#endif

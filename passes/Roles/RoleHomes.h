//===- RoleHomes.h - Where values of a step are at home ---------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ROLES_ROLEHOMES_H
#define LOCKSTEP_PASSES_ROLES_ROLEHOMES_H

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Analysis/Uniformity.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace lockstep {

/// A role, as a number: 0 for the replicas, 1 and so on for the servers.
using Role = unsigned;
constexpr Role kReplicas = 0;

/// An exchange between all replicas and a server.
struct Exchange {
  collective::Kind kind;
  Role server;
  /// The server has the operands and the replicas the results, or the other way
  /// round.
  bool serverGives;

  bool gives(Role role) const { return (role == server) == serverGives; }
};

/// The role that computes each value of a step in collective form, and the
/// exchanges of replicas with servers that follow from it.
///
/// A variable of a server, and what is computed from it to become its next
/// value, is *at home* with that server; what replicas compute from their
/// batches is at home with them. What depends on constants and host scalars
/// alone is at home everywhere, and so are single numbers: whoever needs it
/// computes it. What decides control flow is at home with the server from whose
/// values alone it is computed, else with the replicas (`RoleDecisions.h`).
class RoleHomes {
public:
  /// `decisions` are the tensors that `wrapDecisions` has made in `step`.
  static RoleHomes compute(mlir::func::FuncOp step,
                           const UniformityAnalysis &uniformity,
                           int64_t replicas,
                           const llvm::SetVector<mlir::Value> &decisions);

  /// The role that computes a value; nothing: everyone who needs it.
  std::optional<Role> getHome(mlir::Value value) const;
  /// What a server has to do with a collective; nothing if it is among the
  /// replicas. A collective with a root is with that server. Of a sum or a
  /// gather over all replicas whose result a server needs, the result is for
  /// that server alone.
  std::optional<Exchange> getExchange(collective::StartOp start) const;
  /// Who has the variable that a result of the step is the next value of; the
  /// replicas for other results.
  Role getResultRole(unsigned index) const { return resultRoles[index]; }
  /// What flows into a result or a carried value of control flow, from other
  /// iterations or branches; empty for other values.
  llvm::ArrayRef<mlir::Value> getFlows(mlir::Value value) const;

private:
  friend class HomeFinder;
  /// Values without an entry are at home everywhere.
  llvm::DenseMap<mlir::Value, Role> homes;
  /// In the order in which they are found, by their starts.
  llvm::MapVector<mlir::Operation *, Exchange> exchanges;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> flows;
  llvm::SmallVector<Role> resultRoles;
};

/// Control flow whose regions are taken apart. Other operations with regions
/// belong to one role as a whole.
bool isTakenApart(mlir::Operation *op);

/// What an operation needs, its regions included.
llvm::SmallVector<mlir::Value> getNeededValues(mlir::Operation *op);

} // namespace lockstep

#endif // LOCKSTEP_PASSES_ROLES_ROLEHOMES_H

//===- RoleHomes.h - The roles that compute values of a step ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ROLES_ROLEHOMES_H
#define LOCKSTEP_PASSES_ROLES_ROLEHOMES_H

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Analysis/UniformityAnalysis.h"

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
  /// True if the server sends and the replicas receive; false if the replicas
  /// send and the server receives.
  bool serverSends;

  bool sends(Role role) const { return (role == server) == serverSends; }
};

/// The role that computes each value of a step in collective form, and the
/// exchanges of replicas with servers that follow from it.
///
/// The role that computes a value is its *home*. The home of a server's
/// variable, and of the values from which its new value is computed, is that
/// server; the home of values that replicas compute from their batches is the
/// replicas. Scalars, and values that depend only on constants and host
/// scalars, are at home everywhere: every role that needs one computes it. The
/// home of a value that controls control flow is the server from whose values
/// alone it is computed, else the replicas (`RoleDecisions.h`).
class RoleHomes {
public:
  /// `decisions` are the tensors that `wrapDecisions` has made in `step`.
  static RoleHomes compute(mlir::func::FuncOp step,
                           const UniformityAnalysis &uniformity,
                           int64_t replicas,
                           const llvm::SetVector<mlir::Value> &decisions);

  /// The role that computes a value; nullopt: every role that needs it.
  std::optional<Role> getHome(mlir::Value value) const;
  /// The part of a server in a collective; nullopt if only replicas take part.
  /// The root of a collective is a server. The result of a sum or gather over
  /// all replicas that a server needs is received by that server only.
  std::optional<Exchange> getExchange(collective::StartOp start) const;
  /// The role that has the variable whose new value a result of the step is;
  /// the replicas for other results.
  Role getResultRole(unsigned index) const { return resultRoles[index]; }
  /// The values that flow into a result or carried value of control flow, from
  /// other iterations or branches; empty for other values.
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

/// True for control flow whose regions are projected to several roles. Other
/// operations with regions belong to one role as a whole.
bool isProjected(mlir::Operation *op);

/// The operands of an operation, and the values that its regions capture.
llvm::SmallVector<mlir::Value> getNeededValues(mlir::Operation *op);

} // namespace lockstep

#endif // LOCKSTEP_PASSES_ROLES_ROLEHOMES_H

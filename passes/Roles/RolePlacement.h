//===- RolePlacement.h - The operations that each role executes -*- C++ -*-===//
//
// A step in collective form is one program that all roles execute together. The
// placement finds the projection of each role: the role that computes each
// value, and the other roles that need it.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_ROLES_ROLEPLACEMENT_H
#define LOCKSTEP_PASSES_ROLES_ROLEPLACEMENT_H

#include "passes/Roles/RoleHomes.h"

#include "llvm/ADT/SmallBitVector.h"

namespace lockstep {

/// The parts of one step.
///
/// A value that is computed by one role and needed by another is *transferred*.
/// A sum over the replicas that a server needs is reduced to it. A role
/// executes the control flow around the operations of its part.
class RolePlacement {
public:
  /// Errors, at the operations: a server needs a value that may differ between
  /// replicas; a role needs one of unbounded size; divergent control flow
  /// contains operations of a server.
  static llvm::FailureOr<RolePlacement>
  compute(mlir::func::FuncOp step, const UniformityAnalysis &uniformity,
          Role roles, int64_t replicas, llvm::SetVector<mlir::Value> decisions);

  /// Whether the role has the value: it computes or receives it.
  bool has(Role role, mlir::Value value) const;
  bool executes(Role role, mlir::Operation *op) const;
  std::optional<Role> getHome(mlir::Value value) const {
    return homes.getHome(value);
  }
  /// The roles that receive a value from its home, ascending.
  llvm::SmallVector<Role> getTransfers(mlir::Value value) const;
  /// All roles that have a value, ascending.
  llvm::SmallVector<Role> getHolders(mlir::Value value) const;
  /// Whether a tensor holds a condition or bound of control flow
  /// (`RoleDecisions.h`).
  bool isDecision(mlir::Value value) const { return decisions.contains(value); }
  std::optional<Exchange> getExchange(collective::StartOp start) const {
    return homes.getExchange(start);
  }
  /// Whether the role has a part in the step at all.
  bool takesPart(Role role) const;

private:
  friend class RolePlacer;
  RoleHomes homes;
  llvm::SetVector<mlir::Value> decisions;
  llvm::DenseMap<mlir::Value, llvm::SmallBitVector> holders;
  llvm::DenseMap<mlir::Operation *, llvm::SmallBitVector> executors;
};

/// A collective like `start`, of one operand.
collective::StartOp createWithOperand(mlir::OpBuilder &builder,
                                      collective::StartOp start,
                                      mlir::Value operand, mlir::Type result);

} // namespace lockstep

#endif

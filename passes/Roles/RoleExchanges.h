//===- RoleExchanges.h - One role's part in exchanges -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ROLES_ROLEEXCHANGES_H
#define LOCKSTEP_PASSES_ROLES_ROLEEXCHANGES_H

#include "passes/Roles/RolePlacement.h"
#include "passes/Roles/Roles.h"

#include "mlir/IR/IRMapping.h"

namespace lockstep {

/// Builds one role's ends of the exchanges of a step: of collectives with a
/// server, and of transfers of values between roles. `mapping` maps values of
/// the step to those of the role.
class RoleExchanges {
public:
  RoleExchanges(const RolePlacement &placement, Roles &roles,
                Channels &channels, Role role, mlir::OpBuilder &builder,
                mlir::IRMapping &mapping)
      : placement(placement), roles(roles), channels(channels), role(role),
        builder(builder), mapping(mapping) {}

  void buildStart(collective::StartOp start);
  void buildWait(collective::WaitOp wait);

  /// Sends values that other roles need, and receives those that others send.
  void transfer(mlir::ValueRange values);

private:
  collective::StartOp createStart(mlir::Location loc, collective::Kind kind,
                                  collective::Reduction reduction,
                                  mlir::FlatSymbolRefAttr group, int64_t root,
                                  int64_t channel, mlir::ValueRange inputs,
                                  mlir::TypeRange results,
                                  mlir::ValueRange sizes);
  /// This role's end of an exchange with a server: it sends, or it receives.
  collective::StartOp createPart(const Exchange &exchange,
                                 collective::StartOp start);

  void transfer(mlir::Value value, Role from, Role to);
  /// One broadcast to all roles that test a decision. All of them, including
  /// the sender, test the result, whose value is that at the time of sending.
  void transferDecision(mlir::Value decision);
  /// The size of a dimension, an index, at both ends.
  mlir::Value transferSize(mlir::Value value, int64_t dimension, Role from,
                           Role to);
  /// One end of a transfer: sends `own`, or, if it is null, receives and
  /// returns a value of type `type`.
  mlir::Value sendOrReceive(mlir::Location loc, mlir::RankedTensorType type,
                            mlir::Value own, Role from, Role to,
                            int64_t channel, mlir::ValueRange sizes,
                            llvm::ArrayRef<int64_t> bounds);

  llvm::SmallVector<mlir::Value> lookup(mlir::ValueRange values) {
    return llvm::map_to_vector(
        values, [&](mlir::Value value) { return mapping.lookup(value); });
  }

  const RolePlacement &placement;
  Roles &roles;
  Channels &channels;
  Role role;
  mlir::OpBuilder &builder;
  mlir::IRMapping &mapping;
};

} // namespace lockstep

#endif // LOCKSTEP_PASSES_ROLES_ROLEEXCHANGES_H

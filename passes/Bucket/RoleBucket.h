//===- RoleBucket.h - A bucket in one of several roles ----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_BUCKET_ROLEBUCKET_H
#define LOCKSTEP_PASSES_BUCKET_ROLEBUCKET_H

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace lockstep {

/// A bucket while it is formed, in a function of one of several roles. All
/// roles that take part in an exchange must issue their exchanges in the same
/// order.
class RoleBucket {
public:
  RoleBucket(device::RoleOp role, mlir::SymbolTableCollection &symbols)
      : role(role), symbols(&symbols) {}

  void add(collective::StartOp start);

  /// Whether making `start`, which is behind the members, a member would move
  /// an exchange with another role that depends on the members behind another
  /// such exchange. The other role may need the first to compute what it sends
  /// in the second, and would wait forever.
  bool wouldReorderExchanges(collective::StartOp start);

private:
  device::RoleOp role;
  mlir::SymbolTableCollection *symbols;
  llvm::SetVector<mlir::Operation *> dependents;
  /// The first operation that has not been visited by `wouldReorderExchanges`;
  /// null: the bucket has no members.
  mlir::Operation *next = nullptr;
  /// Whether an exchange with another role that depends on the members has been
  /// found.
  bool moves = false;
};

} // namespace lockstep

#endif

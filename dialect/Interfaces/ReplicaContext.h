//===- ReplicaContext.h - The two contexts of a program ---------*- C++ -*-===//
//
// The traits that restrict an operation to replica or cross-replica context,
// and their common verifier (reference, section 1.1).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_REPLICACONTEXT_H
#define LOCKSTEP_DIALECT_INTERFACES_REPLICACONTEXT_H

#include "mlir/IR/OpDefinition.h"

namespace lockstep {

/// The context in which code runs: once per replica, or once for all replicas.
enum class Context { Replica, CrossReplica };

/// "replica" or "cross-replica".
llvm::StringRef stringifyContext(Context context);

/// The context that is opened by the nearest enclosing operation that opens
/// one; nullopt if there is none.
std::optional<Context> getEnclosingContext(mlir::Operation *op);

namespace detail {
/// Succeeds if the nearest enclosing operation that opens a context opens one
/// of `allowed`. Otherwise emits [E_CONTEXT] at `op` with a note at the opener.
llvm::LogicalResult verifyContext(mlir::Operation *op,
                                  llvm::ArrayRef<Context> allowed);
} // namespace detail

template <typename ConcreteType>
class InReplicaContext
    : public mlir::OpTrait::TraitBase<ConcreteType, InReplicaContext> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyContext(op, {Context::Replica});
  }
};

template <typename ConcreteType>
class InCrossReplicaContext
    : public mlir::OpTrait::TraitBase<ConcreteType, InCrossReplicaContext> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyContext(op, {Context::CrossReplica});
  }
};

template <typename ConcreteType>
class InAnyContext
    : public mlir::OpTrait::TraitBase<ConcreteType, InAnyContext> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyContext(op, {Context::Replica, Context::CrossReplica});
  }
};

} // namespace lockstep

#include "dialect/Interfaces/ReplicaContext.h.inc"

#endif

//===- ReplicaContext.h - The two contexts of a program ---------*- C++ -*-===//
//
// The traits that restrict an operation to replica or cross-replica context,
// and their common verifier (docs/semantics.md, section 1.1).
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

/// The context that the nearest enclosing `OpensContextInterface` operation
/// opens; nullopt if there is none.
std::optional<Context> getEnclosingContext(mlir::Operation *op);

namespace detail {
/// Succeeds if the nearest enclosing operation that opens a context opens one
/// of `allowed`, or if there is none and `op` is in a private function, whose
/// context is that of its callers. Otherwise emits the error [E_CONTEXT] at
/// `op`, with a note at the operation that opens the context.
llvm::LogicalResult verifyContext(mlir::Operation *op,
                                  llvm::ArrayRef<Context> allowed);
} // namespace detail

/// The trait of operations that must be in replica context.
template <typename ConcreteType>
class InReplicaContext
    : public mlir::OpTrait::TraitBase<ConcreteType, InReplicaContext> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyContext(op, {Context::Replica});
  }
};

/// The trait of operations that must be in cross-replica context.
template <typename ConcreteType>
class InCrossReplicaContext
    : public mlir::OpTrait::TraitBase<ConcreteType, InCrossReplicaContext> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyContext(op, {Context::CrossReplica});
  }
};

/// The trait of operations that must be in one of the two contexts.
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

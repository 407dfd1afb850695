//===- ReplicaDialect.h - The replica dialect -------------------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_REPLICA_REPLICADIALECT_H
#define LOCKSTEP_DIALECT_REPLICA_REPLICADIALECT_H

#include "dialect/Interfaces/CollectiveOpInterface.h"
#include "dialect/Interfaces/ReplicaContext.h"
#include "dialect/Interfaces/Uniformity.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/Replica/ReplicaDialect.h.inc"
#include "dialect/Replica/ReplicaEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Replica/ReplicaAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Replica/ReplicaTypes.h.inc"

namespace lockstep::replica {

/// The communication between replicas, as a resource of memory effects.
struct CommunicationResource
    : mlir::SideEffects::Resource::Base<CommunicationResource> {
  llvm::StringRef getName() final { return "replica.communication"; }
};

/// The contents of all variables, as a resource of memory effects.
struct VariableResource : mlir::SideEffects::Resource::Base<VariableResource> {
  llvm::StringRef getName() final { return "replica.variables"; }
};

} // namespace lockstep::replica

#define GET_OP_CLASSES
#include "dialect/Replica/ReplicaOps.h.inc"

namespace lockstep::replica {

/// The reductions of `tf.distribute`.
constexpr Reduction kSumOrMean[] = {Reduction::Sum, Reduction::Mean};
/// All reductions that replica context supports.
constexpr Reduction kReductions[] = {Reduction::Sum, Reduction::Mean,
                                     Reduction::Product, Reduction::Min,
                                     Reduction::Max};

/// The number of replicas that `module` is compiled for; emits an error if its
/// `replica.strategy` is missing or does not set it.
llvm::FailureOr<int64_t> getReplicaCount(mlir::ModuleOp module);

/// Marks reads, assignments and scatters that were in cross-replica context
/// before the pass `splice-contexts`: a read combines the copies of all
/// replicas, and an assignment writes all of them.
constexpr llvm::StringLiteral kCrossReplica = "replica.cross_replica";
/// Marks assignments that write only the copy of the replica that executes
/// them, without aggregating the values of all replicas.
constexpr llvm::StringLiteral kOwnCopy = "replica.own_copy";

/// Marks the operation that extracts the rows of a value that are assigned to
/// one shard of a variable.
constexpr llvm::StringLiteral kShardOfValue = "replica.shard_of_value";

/// The type of one replica's component of a value of type `type`: the component
/// of a per-replica or mirrored type, a tensor type itself, null for others.
mlir::TensorType getComponent(mlir::Type type);

/// The type of the reduction of values of type `type`: a mean of integers is
/// f64.
mlir::TensorType getReducedType(Reduction reduction, mlir::TensorType type);

/// The variable that `op` names in its attribute `variable`; null if there is
/// none.
VariableOp lookupVariable(mlir::Operation *op,
                          mlir::SymbolTableCollection &symbolTable);

} // namespace lockstep::replica

#endif

//===- Replicas.h - What replica and cross-replica context share ----------===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_REPLICAS_H
#define LOCKSTEP_DIALECT_REFERENCE_REPLICAS_H

#include "dialect/Reference/Code.h"

#include "dialect/Replica/ReplicaDialect.h"

namespace lockstep::interpret {

struct Variable;

/// to += value, or to -= value. Not rounded.
void addTo(Value &to, const Value &value, const Element &element,
           bool subtract);

/// Sum or mean of one value a replica, of elements `element`. The mean of one
/// integer is that integer where `result` says so.
Value reduce(replica::Reduction reduction, llvm::ArrayRef<Value> values,
             const Element &element, mlir::Type result);

/// `sum` / `count`; of integers, as f64.
Value divide(const Value &sum, const Element &element, int64_t count);

/// What each replica gives for one operand of a collective.
llvm::SmallVector<Value>
ofReplicas(llvm::ArrayRef<llvm::SmallVector<Value>> operands, size_t index);

/// What each replica has of a value of cross-replica context.
std::vector<Value> componentsOf(const Value &value, int64_t replicas);

/// Fails if shapes differ between replicas in another dimension than `axis`.
llvm::LogicalResult checkShapes(Machine &machine, mlir::Operation *op,
                                llvm::ArrayRef<Value> values,
                                int64_t axis = -1);

/// Fails if the components of a per-replica value differ.
llvm::LogicalResult checkEqual(Machine &machine, mlir::Operation *op,
                               const Value &value);

/// Fails if a result type promises another size along `axis`.
llvm::LogicalResult checkGathered(Machine &machine, mlir::Operation *op,
                                  const Value &gathered, mlir::Type type,
                                  int64_t axis);

/// The variable that an operation names.
Variable &findVariable(mlir::Operation *op, CodeBuilder &builder);

/// Operations of cross-replica context, and those that lead there or back; null
/// for other operations.
llvm::FailureOr<Instruction::Run> translateCrossReplicaOp(mlir::Operation *op,
                                                          CodeBuilder &builder);

/// Slices and scatters; null for other operations.
llvm::FailureOr<Instruction::Run> translateSlicesOp(mlir::Operation *op,
                                                    CodeBuilder &builder);

} // namespace lockstep::interpret

#endif

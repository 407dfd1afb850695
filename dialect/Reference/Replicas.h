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

/// The reduction of one value from each replica; `element` is their element
/// type. The mean of integers is in f64, except that of a single value if
/// `result` is an integer type.
Value reduce(replica::Reduction reduction, llvm::ArrayRef<Value> values,
             const Element &element, mlir::Type result);

/// `sum` / `count`; in f64 for integers.
Value divide(const Value &sum, const Element &element, int64_t count);

/// The values of all replicas for one operand of a collective.
llvm::SmallVector<Value>
ofReplicas(llvm::ArrayRef<llvm::SmallVector<Value>> operands, size_t index);

/// The component of each replica of a value of cross-replica context.
std::vector<Value> componentsOf(const Value &value, int64_t replicas);

/// Fails if shapes differ between replicas in a dimension other than `axis`.
llvm::LogicalResult checkShapes(Machine &machine, mlir::Operation *op,
                                llvm::ArrayRef<Value> values,
                                int64_t axis = -1);

/// Fails if the components of a per-replica value differ.
llvm::LogicalResult checkEqual(Machine &machine, mlir::Operation *op,
                               const Value &value);

/// Fails if the result type has a static size along `axis` that is not that of
/// `gathered`.
llvm::LogicalResult checkGathered(Machine &machine, mlir::Operation *op,
                                  const Value &gathered, mlir::Type type,
                                  int64_t axis);

/// The variable that an operation names.
Variable &findVariable(mlir::Operation *op, CodeBuilder &builder);

/// Translates operations of cross-replica context, and those that change
/// between it and replica context; null for other operations.
llvm::FailureOr<Instruction::Run> translateCrossReplicaOp(mlir::Operation *op,
                                                          CodeBuilder &builder);

/// Translates operations on slices (rows and their indices) and scatters; null
/// for other operations.
llvm::FailureOr<Instruction::Run> translateSlicesOp(mlir::Operation *op,
                                                    CodeBuilder &builder);

} // namespace lockstep::interpret

#endif

//===- Replicas.h - What replica and cross-replica context share ----------===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_REPLICAS_H
#define LOCKSTEP_DIALECT_REFERENCE_REPLICAS_H

#include "dialect/Reference/Code.h"

#include "dialect/Replica/ReplicaDialect.h"

namespace lockstep::interpret {

struct Variable;

/// Adds `value` to `to`, which has the same shape, or subtracts it. Integers
/// wrap around; the results of 16-bit floats are not rounded to their type.
void addTo(Value &to, const Value &value, const Element &element,
           bool subtract);

/// The reduction of `values`, one from each replica, all of one shape.
/// `element` is their element type, and `result` the type of the result. The
/// mean of integers is in f64, except that a single value is returned as it is
/// if `result` has integers. 16-bit floats are rounded once, at the end.
Value reduce(replica::Reduction reduction, llvm::ArrayRef<Value> values,
             const Element &element, mlir::Type result);

/// `sum` / `count` for each element; in f64 for integers.
Value divide(const Value &sum, const Element &element, int64_t count);

/// `operands[r][index]` for each replica r: all values of one operand of a
/// collective.
llvm::SmallVector<Value>
valuesOfReplicas(llvm::ArrayRef<llvm::SmallVector<Value>> operands,
                 size_t index);

/// For each replica, its component of a value of cross-replica context: the
/// whole value unless that is per-replica.
std::vector<Value> componentsOf(const Value &value, int64_t replicas);

/// Reports an error at `op` if the shapes of `values`, one from each replica,
/// differ in rank or in a dimension other than `axis`; -1: in any.
llvm::LogicalResult checkShapes(Machine &machine, mlir::Operation *op,
                                llvm::ArrayRef<Value> values,
                                int64_t axis = -1);

/// Reports an error at `op` if the components of a per-replica value differ.
llvm::LogicalResult checkEqual(Machine &machine, mlir::Operation *op,
                               const Value &value);

/// Reports an error at `op` if the result type `type` has a static size along
/// `axis` that is not that of `gathered`.
llvm::LogicalResult checkGathered(Machine &machine, mlir::Operation *op,
                                  const Value &gathered, mlir::Type type,
                                  int64_t axis);

/// The variable that the attribute `variable` of `op` names.
Variable &findVariable(mlir::Operation *op, CodeBuilder &builder);

/// Translates operations of cross-replica context, and those whose regions are
/// in the other context than they are themselves; null for other operations.
llvm::FailureOr<Instruction::Run> translateCrossReplicaOp(mlir::Operation *op,
                                                          CodeBuilder &builder);

/// Translates operations on slices (rows and their indices) and scatters; null
/// for other operations.
llvm::FailureOr<Instruction::Run> translateSlicesOp(mlir::Operation *op,
                                                    CodeBuilder &builder);

} // namespace lockstep::interpret

#endif

//===- Replicas.h - What replica and cross-replica context share -*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_INTERPRET_REPLICAS_H
#define LOCKSTEP_PASSES_INTERPRET_REPLICAS_H

#include "passes/Interpret/Code.h"

#include "dialect/Replica/ReplicaDialect.h"

namespace lockstep::interpret {

struct Variable;

/// to += value, or to -= value. Not rounded.
void addTo(Value &to, const Value &value, const Element &element, bool subtract);

/// Sum or mean of one value a replica.
Value reduce(replica::Reduction reduction, llvm::ArrayRef<Value> values, const Element &element);

/// Fails if shapes differ between replicas in another dimension than `axis`.
llvm::LogicalResult checkShapes(Machine &machine, mlir::Operation *op, llvm::ArrayRef<Value> values, int64_t axis = -1);

/// Fails if a result type promises another size along `axis`.
llvm::LogicalResult checkGathered(Machine &machine, mlir::Operation *op, const Value &gathered, mlir::Type type, int64_t axis);

/// The variable that an operation names.
Variable &findVariable(mlir::Operation *op, CodeBuilder &builder);

/// merge_call and what stands inside; null for other operations.
llvm::FailureOr<Instruction::Run> translateMergeOp(mlir::Operation *op, CodeBuilder &builder);

} // namespace lockstep::interpret

#endif

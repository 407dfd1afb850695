//===- CollectiveDialect.h - The collective dialect -------------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_COLLECTIVE_COLLECTIVEDIALECT_H
#define LOCKSTEP_DIALECT_COLLECTIVE_COLLECTIVEDIALECT_H

#include "dialect/Interfaces/CollectiveOpInterface.h"
#include "dialect/Interfaces/ReplicaContext.h"
#include "dialect/Interfaces/Uniformity.h"
#include "runtime/collectives/CollectiveKinds.h"

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

#include "dialect/Collective/CollectiveDialect.h.inc"
#include "dialect/Collective/CollectiveEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Collective/CollectiveAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Collective/CollectiveTypes.h.inc"

namespace lockstep::collective {

/// The communication between replicas, as a resource of memory effects: an
/// operation that communicates reads and writes it, so that it is neither
/// removed nor moved across another.
struct CommunicationResource
    : mlir::SideEffects::Resource::Base<CommunicationResource> {
  llvm::StringRef getName() final { return "collective.communication"; }
};

/// The attribute of collectives that exchange the last two pieces of one
/// gradient, a number. They do not share a bucket, so that the other pieces can
/// be used while the link carries the last one.
constexpr llvm::StringLiteral kLastPieceOf = "collective.last_piece_of";

/// The properties of a kind of collective, from the table that compiler and
/// runtime share.
const runtime::CollectiveProperties &propertiesOf(Kind kind);

/// Whether a reduction over operands of type `operand` can have results of type
/// `result`: the same type, or the f32 that f16 and bf16 accumulate in.
bool isReductionResult(mlir::RankedTensorType operand, mlir::Type result);
} // namespace lockstep::collective

#define GET_OP_CLASSES
#include "dialect/Collective/CollectiveOps.h.inc"

namespace lockstep::collective {

/// Verifies a start against `ranks`, the ranks of its group in ascending order:
/// a point-to-point collective has two; a permute has one source for each,
/// which is one of them or none; and the numbers of rows of operands and
/// results fit the number of ranks. Emits an error otherwise.
llvm::LogicalResult verifyMembers(StartOp start, llvm::ArrayRef<int64_t> ranks);

} // namespace lockstep::collective

#endif

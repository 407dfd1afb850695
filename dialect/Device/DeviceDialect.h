//===- DeviceDialect.h - The device dialect ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_DEVICE_DEVICEDIALECT_H
#define LOCKSTEP_DIALECT_DEVICE_DEVICEDIALECT_H

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Interfaces/CollectiveOpInterface.h"
#include "dialect/Interfaces/ReplicaContext.h"
#include "dialect/Interfaces/Uniformity.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/Device/DeviceDialect.h.inc"
#include "dialect/Device/DeviceEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Device/DeviceAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Device/DeviceTypes.h.inc"

#define GET_OP_CLASSES
#include "dialect/Device/DeviceOps.h.inc"

namespace lockstep::device {

/// Whether `op` is an attention, or the gradient of one.
bool isAttention(mlir::Operation *op);
/// The type of scores and sums in an attention for operands of this type.
mlir::FloatType getWideType(mlir::Type element);

/// The role whose processes execute a function or store a variable, from the
/// attribute `device.role`; null for the role of the replicas.
constexpr llvm::StringLiteral kRole = "device.role";
RoleOp getRole(mlir::Operation *op);
/// The attribute of a function that is the projection of a step onto a role:
/// the name of the step, which its projections share.
constexpr llvm::StringLiteral kStep = "device.step";
/// The number of channels that the projections of a step share: collectives
/// between roles have the first numbers, the same in all projections.
constexpr llvm::StringLiteral kSharedChannels = "device.shared_channels";
int64_t getSharedChannels(mlir::Operation *step);
/// The attribute of a variable that is a shard of another one: its rows.
constexpr llvm::StringLiteral kShard = "device.shard";
/// The name of the role of all replicas, in modules with roles.
constexpr llvm::StringLiteral kWorkerRole = "worker";

} // namespace lockstep::device

#endif

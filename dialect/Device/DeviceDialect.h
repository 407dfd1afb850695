//===- DeviceDialect.h - The device dialect -*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_DEVICE_DEVICEDIALECT_H
#define LOCKSTEP_DIALECT_DEVICE_DEVICEDIALECT_H

#include "dialect/Collective/CollectiveDialect.h"
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

#include "dialect/Device/DeviceDialect.h.inc"
#include "dialect/Device/DeviceEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Device/DeviceAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Device/DeviceTypes.h.inc"

#define GET_OP_CLASSES
#include "dialect/Device/DeviceOps.h.inc"

namespace lockstep::device {

/// The role whose processes execute a function, or hold a variable, by its
/// attribute `device.role`; null: the replicas.
constexpr llvm::StringLiteral kRole = "device.role";
RoleOp getRole(mlir::Operation *op);
/// The step that a function is a role's part of, by the name that the parts
/// share.
constexpr llvm::StringLiteral kStep = "device.step";
/// How many channels the parts of a step share: exchanges between roles have
/// the first numbers, in all parts alike.
constexpr llvm::StringLiteral kSharedChannels = "device.shared_channels";
int64_t getSharedChannels(mlir::Operation *step);
/// Which rows of a variable another one is.
constexpr llvm::StringLiteral kShard = "device.shard";
/// The role of all replicas, in modules with roles.
constexpr llvm::StringLiteral kWorkerRole = "worker";

} // namespace lockstep::device

#endif

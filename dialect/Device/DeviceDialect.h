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

#endif

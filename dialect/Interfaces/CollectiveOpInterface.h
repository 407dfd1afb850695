//===- CollectiveOpInterface.h - The interface of collectives ---*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_COLLECTIVEOPINTERFACE_H
#define LOCKSTEP_DIALECT_INTERFACES_COLLECTIVEOPINTERFACE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"

#include "dialect/Interfaces/CollectiveOpInterface.h.inc"

#endif

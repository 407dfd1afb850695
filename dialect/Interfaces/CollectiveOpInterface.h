//===- CollectiveOpInterface.h - The interface of collectives ---*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_COLLECTIVEOPINTERFACE_H
#define LOCKSTEP_DIALECT_INTERFACES_COLLECTIVEOPINTERFACE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"

#include "runtime/collectives/CollectiveKinds.h"

namespace lockstep {
class CollectiveOpInterface;

/// How many bytes a collective transfers for each byte of its operands.
int64_t getTransferWidening(CollectiveOpInterface op);
} // namespace lockstep

#include "dialect/Interfaces/CollectiveOpInterface.h.inc"

#endif

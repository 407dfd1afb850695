//===- Boundaries.h - What may be exchanged with a host ---------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_REPLICA_BOUNDARIES_H
#define LOCKSTEP_DIALECT_REPLICA_BOUNDARIES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace lockstep::replica {

/// Verifies that a process can address a tensor. Dynamic sizes count as their
/// `bounds`, or as 1 if these are fewer. `place`, as "for argument 1, ", is
/// part of the error.
llvm::LogicalResult verifyAddressable(mlir::Operation *op,
                                      const llvm::Twine &place,
                                      mlir::RankedTensorType type,
                                      llvm::ArrayRef<int64_t> bounds = {});

} // namespace lockstep::replica

#endif

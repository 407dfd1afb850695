//===- ReduceAxes.h - Reductions along axes of a tensor ---------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_REDUCEAXES_H
#define LOCKSTEP_PASSES_LOWER_REDUCEAXES_H

#include "dialect/Replica/ReplicaDialect.h"

namespace lockstep {

/// The reduction `op`, which has axes, in replica context: of the elements of
/// `value` along the axes, on all replicas together. `value` is a replica's own
/// operand.
mlir::Value reduceAxes(mlir::OpBuilder &builder, replica::ReduceOp op,
                       mlir::Value value, int64_t replicas);

} // namespace lockstep

#endif // LOCKSTEP_PASSES_LOWER_REDUCEAXES_H

//===- ReplicaGroup.h - The group of all replicas ---------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_REPLICAGROUP_H
#define LOCKSTEP_PASSES_LOWER_REPLICAGROUP_H

#include "mlir/IR/BuiltinOps.h"

namespace lockstep {

/// The name of the group of all replicas. Reuses one of the module, so that
/// collectives and barriers in it are known to have the same members, or
/// creates one.
mlir::StringAttr getGroupOfReplicas(mlir::ModuleOp module, int64_t replicas);

} // namespace lockstep

#endif

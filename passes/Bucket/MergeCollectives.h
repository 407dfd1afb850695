//===- MergeCollectives.h - Make one collective of several ------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_BUCKET_MERGECOLLECTIVES_H
#define LOCKSTEP_PASSES_BUCKET_MERGECOLLECTIVES_H

#include "dialect/Collective/CollectiveDialect.h"

#include "llvm/ADT/SetVector.h"

namespace lockstep {

/// The wait of a collective.
collective::WaitOp getWait(collective::StartOp start);

/// Adds the operations of the block that depend on `root`, itself included, to
/// the `dependents` of others.
void addDependents(mlir::Operation *root,
                   llvm::SetVector<mlir::Operation *> &dependents);

/// Replaces each bucket, at least two collectives of the block, by one
/// collective with the operands of all of them, at the start of the last one.
/// Members are in the order of the block, of one kind, group, reduction, axis
/// and element type; none depends on another one, and neither a barrier nor a
/// load of a batch is between them. Operations that depend on the results are
/// moved behind the new wait. Returns the new collectives.
llvm::SmallVector<collective::StartOp>
mergeCollectives(mlir::Block &block,
                 llvm::ArrayRef<llvm::ArrayRef<collective::StartOp>> buckets);

} // namespace lockstep

#endif

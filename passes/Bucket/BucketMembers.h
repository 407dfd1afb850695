//===- BucketMembers.h - What may share a bucket ----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_BUCKET_BUCKETMEMBERS_H
#define LOCKSTEP_PASSES_BUCKET_BUCKETMEMBERS_H

#include "passes/Analysis/ReadyTimes.h"
#include "runtime/model/BucketPlan.h"

namespace lockstep {

/// For collectives of one key in the order of the block: the first one that may
/// share the bucket of each. None on whose result it depends, and none before a
/// barrier or the load of another batch. Sets only `first` of the members.
std::vector<runtime::BucketMember>
findDependences(mlir::Block &block, llvm::ArrayRef<collective::StartOp> starts);

/// Whether each bucket, of collectives of one key, may be merged as the block
/// is now. Sorts each by the order of the block.
bool mayBeMerged(
    mlir::Block &block,
    llvm::MutableArrayRef<llvm::SmallVector<collective::StartOp>> buckets);

/// The collectives of a block on whose results another one depends.
llvm::DenseSet<mlir::Operation *> findNeededByCollectives(mlir::Block &block);

/// The members, with those that are ready too late kept out of the buckets of
/// members that are `needed` by another collective: the plan takes the times at
/// which members are ready as given, but such a bucket would delay them.
std::vector<runtime::BucketMember>
separateNeeded(const llvm::DenseSet<mlir::Operation *> &needed,
               llvm::ArrayRef<collective::StartOp> starts,
               std::vector<runtime::BucketMember> members,
               const ReadyTimes &ready, const runtime::TransferTime &time);

/// If all members are ready at the same time, as are gathers at the beginning
/// of a step, and their results are needed one after the other: when each is,
/// in seconds of kernels from then on. Otherwise nothing.
std::vector<double> findNeeds(llvm::ArrayRef<collective::StartOp> starts,
                              llvm::ArrayRef<runtime::BucketMember> members,
                              const ReadyTimes &ready);

} // namespace lockstep

#endif

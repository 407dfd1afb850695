//===- CostModel.h - the time of kernels and collectives --------*- C++ -*-===//
//
// The compiler decides by this model, and the simulator executes it.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_MODEL_COSTMODEL_H
#define LOCKSTEP_RUNTIME_MODEL_COSTMODEL_H

#include "runtime/model/BucketPlan.h"
#include "runtime/model/Topology.h"

namespace lockstep::runtime {

/// Seconds of one launch: its arithmetic or its memory traffic, whichever takes
/// longer, and the launch itself.
double kernelSeconds(const ComputeRates &rates, uint64_t flops, uint64_t bytes);

/// Seconds of a collective among `members` > 0 replicas that are neighbors.
/// `bytes` are those of the operands of one member, or of the root; of a
/// reduction, those of the accumulators.
///
/// With `ringOrTree` and several levels, the members of a level reduce and
/// divide among themselves what the next level has to carry, in pieces, so that
/// all levels carry some of them at the same time.
///
/// With `direct`, levels follow each other. An all_reduce that is not done in
/// parts is not divided. Collectives that are not exchanged by host first
/// (CollectiveCost.h), or by hosts with different numbers of members, take the
/// time of the last level. For hosts whose members do not form one subtree of a
/// reduction (ReduceTree.h), the time is too short: they send the sum of each.
///
/// With `reducesOnCompute`, the members are in one process, and the time is
/// that of reading all operands from memory and writing the results to it, and
/// of the rendezvous of the members.
double collectiveSeconds(const Topology &topology,
                         artifact::CollectiveKind kind, uint64_t members,
                         uint64_t bytes);

/// `collectiveSeconds` over the bytes.
TransferTime transferTime(const Topology &topology,
                          artifact::CollectiveKind kind, uint64_t members);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_MODEL_COSTMODEL_H

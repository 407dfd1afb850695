//===- CollectiveOrder.h - All replicas issue the same collectives --------===//
//
// Collectives match by the order in which each replica issues them. Code in
// which all replicas take the same path issues one sequence by construction, so
// only branches and loops with divergent control flow need a proof: there, all
// paths must issue the same sequence.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_COLLECTIVEORDER_H
#define LOCKSTEP_PASSES_VERIFY_COLLECTIVEORDER_H

#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Verify/Verdict.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace lockstep {

/// Succeeds if all replicas issue the same collectives in the same order in
/// `function`. Otherwise emits one error for each branch or loop where they may
/// not: [E_COLLECTIVE_IN_CONTROL_FLOW] if only some replicas would issue a
/// collective, [E_COLLECTIVE_DIVERGENCE] if they would issue different ones.
llvm::LogicalResult verifyCollectiveOrder(mlir::FunctionOpInterface function,
                                          const UniformityAnalysis &uniformity,
                                          Judge &judge);

} // namespace lockstep

#endif

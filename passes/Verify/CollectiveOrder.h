//===- CollectiveOrder.h - All replicas issue the same collectives --------===//
//
// Collectives match by the order in which each replica issues them. Code that
// all replicas go through alike issues one sequence by construction, so only
// what stands under a branch or in a loop that they may go through differently
// is to be proven: there, both sides must issue the same sequence.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_COLLECTIVEORDER_H
#define LOCKSTEP_PASSES_VERIFY_COLLECTIVEORDER_H

#include "passes/Analysis/Uniformity.h"
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

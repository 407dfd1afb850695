//===- OperationTimes.cpp - The time of operations by the model -----------===//

#include "passes/Analysis/OperationTimes.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "passes/Analysis/KernelCost.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace lockstep;
using namespace mlir;

double OperationTimes::of(Operation *op) {
  if (auto invoke = dyn_cast<device::InvokeOp>(op)) {
    auto kernel = symbols.lookupNearestSymbolFrom<device::KernelOp>(
        op, invoke.getKernelAttr());
    auto [it, isNew] = kernels.try_emplace(kernel, 0);
    if (isNew) {
      KernelCost cost = estimateCost(kernel);
      it->second =
          runtime::kernelSeconds(topology.compute, cost.flops, cost.bytes);
    }
    return it->second;
  }
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    // Dynamic sizes are not known: only the latency is counted.
    return runtime::collectiveSeconds(
        topology, collective.getKindProperties().kind, membersOf(collective),
        collective.getTransferredBytes().value_or(0));
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    std::optional<APInt> trips = loop.getStaticTripCount();
    return of(loop.getRegion()) * (trips ? double(trips->getZExtValue()) : 1.0);
  }
  double seconds = 0;
  if (isa<scf::IfOp, scf::IndexSwitchOp>(op)) {
    for (Region &region : op->getRegions())
      seconds = std::max(seconds, of(region));
    return seconds;
  }
  for (Region &region : op->getRegions())
    seconds += of(region);
  return seconds;
}

double OperationTimes::of(Region &region) {
  double seconds = 0;
  for (Operation &op : region.getOps())
    seconds += of(&op);
  return seconds;
}

runtime::TransferTime OperationTimes::transferTimeOf(CollectiveOpInterface op) {
  return runtime::transferTime(topology, op.getKindProperties().kind,
                               membersOf(op));
}

double OperationTimes::latencyOf(CollectiveOpInterface op) {
  return runtime::collectiveSeconds(topology, op.getKindProperties().kind,
                                    membersOf(op), 0);
}

int64_t OperationTimes::membersOf(CollectiveOpInterface op) {
  auto group = symbols.lookupNearestSymbolFrom<collective::GroupOp>(
      op, op.getGroupSymbol());
  return (group.hasAllReplicas() ? replicas : 0) +
         (group.getRanks() ? static_cast<int64_t>(group.getRanks()->size())
                           : 0);
}

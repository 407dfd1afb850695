//===- ReadyTimes.cpp - When the operands of collectives are ready --------===//

#include "passes/Bucket/ReadyTimes.h"

#include "dialect/Device/DeviceDialect.h"
#include "passes/Analysis/KernelCost.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace lockstep;
using namespace mlir;

ReadyTimes::ReadyTimes(Block &block, const runtime::Topology &topology,
                       int64_t replicas, SymbolTableCollection &symbols)
    : topology(topology), replicas(replicas), symbols(symbols) {
  for (Operation &op : block)
    visit(&op);
}

void ReadyTimes::visit(Operation *op) {
  if (auto start = dyn_cast<collective::StartOp>(op)) {
    waitForOperands(op);
    ready[op] = now;
    linkFree = std::max(linkFree, now) + secondsOf(start);
    // The replica waits where a result is read, not at the wait itself.
    arrival[*op->user_begin()] = linkFree;
    return;
  }
  if (isa<collective::WaitOp>(op))
    return;
  double seconds = secondsOf(op);
  if (seconds > 0) {
    waitForOperands(op);
    now += seconds;
    return;
  }
  // Its users wait for what it depends on.
  double latest = 0;
  forOperandArrivals(op, [&](double time) { latest = std::max(latest, time); });
  if (latest > 0)
    arrival[op] = latest;
}

void ReadyTimes::waitForOperands(Operation *op) {
  forOperandArrivals(op, [&](double time) { now = std::max(now, time); });
}

void ReadyTimes::forOperandArrivals(Operation *op,
                                    function_ref<void(double)> use) const {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (auto it = arrival.find(producer); it != arrival.end())
          use(it->second);
  });
}

double ReadyTimes::secondsOf(Operation *op) {
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
  if (auto start = dyn_cast<collective::StartOp>(op))
    return secondsOf(start);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    std::optional<APInt> trips = loop.getStaticTripCount();
    return secondsOf(loop.getRegion()) *
           (trips ? double(trips->getZExtValue()) : 1.0);
  }
  double seconds = 0;
  if (isa<scf::IfOp, scf::IndexSwitchOp>(op)) {
    for (Region &region : op->getRegions())
      seconds = std::max(seconds, secondsOf(region));
    return seconds;
  }
  for (Region &region : op->getRegions())
    seconds += secondsOf(region);
  return seconds;
}

double ReadyTimes::secondsOf(Region &region) {
  double seconds = 0;
  for (Operation &op : region.getOps())
    seconds += secondsOf(&op);
  return seconds;
}

int64_t ReadyTimes::membersOf(collective::StartOp start) {
  auto group = symbols.lookupNearestSymbolFrom<collective::GroupOp>(
      start, start.getGroupAttr());
  return (group.hasAllReplicas() ? replicas : 0) +
         (group.getRanks() ? static_cast<int64_t>(group.getRanks()->size())
                           : 0);
}

int64_t lockstep::getWidening(collective::StartOp start) {
  if (!start.getKindProperties().isReduction || start.getInputs().empty())
    return 1;
  Type element = getElementTypeOrSelf(start.getInputs().front());
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32
             ? 32 / element.getIntOrFloatBitWidth()
             : 1;
}

double ReadyTimes::secondsOf(collective::StartOp start) {
  // Dynamic sizes are not known: only the latency is counted.
  return runtime::collectiveSeconds(
      topology, start.getKindProperties().kind, membersOf(start),
      start.getContributedBytes().value_or(0) * getWidening(start));
}

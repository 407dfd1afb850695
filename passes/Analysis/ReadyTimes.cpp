//===- ReadyTimes.cpp - When the operands of collectives are ready --------===//

#include "passes/Analysis/ReadyTimes.h"

#include "dialect/Device/DeviceDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace lockstep;
using namespace mlir;

ReadyTimes::ReadyTimes(Block &block, OperationTimes &times)
    : times(times), link(times.makeLink()) {
  for (Operation &op : block)
    visit(&op);
  // The block ends when all that it returns has arrived.
  if (block.mightHaveTerminator())
    waitForOperands(block.getTerminator());
}

void ReadyTimes::visit(Operation *op) {
  if (auto start = dyn_cast<collective::StartOp>(op)) {
    waitForOperands(op);
    ready[op] = now;
    // The replica waits where a result is read, not at the wait itself.
    arrival[*op->user_begin()] = link.carry(now, times.transferOf(start)).end;
    need(op, /*takesTime=*/true);
    carried[*op->user_begin()] = {op};
    return;
  }
  if (isa<collective::WaitOp>(op))
    return;
  double seconds = times.of(op);
  need(op, seconds > 0);
  if (seconds > 0) {
    waitForOperands(op);
    now += seconds;
    computed += seconds;
    return;
  }
  // Its users wait for what it depends on.
  double latest = 0;
  forOperandArrivals(op, [&](double time) { latest = std::max(latest, time); });
  if (latest > 0)
    arrival[op] = latest;
}

void ReadyTimes::need(Operation *op, bool takesTime) {
  SmallVector<Operation *, 1> passedOn;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (auto it = carried.find(operand.getDefiningOp()); it != carried.end())
        for (Operation *start : it->second)
          if (!needed.contains(start))
            passedOn.push_back(start);
  });
  if (!takesTime && !passedOn.empty())
    carried[op] = passedOn;
  else
    for (Operation *start : passedOn)
      needed.try_emplace(start, FirstNeed{now, computed});
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

/// Whether a function assigns variables, as a step does.
static bool assignsVariables(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto binding =
        function.getResultAttrOfType<device::BindingAttr>(i, "device.binding");
    if (binding && binding.getKind() == device::BindingKind::Variable)
      return true;
  }
  return false;
}

double lockstep::predictStepSeconds(ModuleOp module,
                                    const runtime::Topology &topology,
                                    int64_t replicas) {
  SymbolTableCollection symbols;
  OperationTimes times(topology, replicas, symbols);
  double seconds = 0;
  for (auto step : module.getOps<func::FuncOp>())
    if (!step.isExternal() && assignsVariables(step))
      seconds += ReadyTimes(step.getBody().front(), times).getEnd();
  return seconds;
}

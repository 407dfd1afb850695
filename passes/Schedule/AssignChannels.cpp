//===- AssignChannels.cpp - Numbers the collectives -----------------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_ASSIGNCHANNELSPASS
#include "passes/Passes.h.inc"

namespace {
struct AssignChannels : impl::AssignChannelsPassBase<AssignChannels> {
  void runOnOperation() override {
    for (auto step : getOperation().getOps<func::FuncOp>()) {
      uint64_t channel = 0;
      step.walk<WalkOrder::PreOrder>([&](CollectiveOpInterface op) { op.setChannelNumber(channel++); });
    }
  }
};
} // namespace
} // namespace lockstep

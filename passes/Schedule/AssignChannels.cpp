//===- AssignChannels.cpp - Numbers the collectives -----------------------===//

#include "dialect/Device/DeviceDialect.h"
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
      // Exchanges between roles have been assigned channels already.
      uint64_t shared = device::getSharedChannels(step), channel = shared;
      step.walk<WalkOrder::PreOrder>([&](CollectiveOpInterface op) {
        std::optional<uint64_t> known = op.getChannelNumber();
        if (!known || *known >= shared)
          op.setChannelNumber(channel++);
      });
    }
  }
};
} // namespace
} // namespace lockstep

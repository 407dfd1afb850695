//===- SetTopology.cpp - Sets the topology of a module --------------------===//

#include "passes/Analysis/ModuleTopology.h"
#include "passes/Passes.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SETTOPOLOGYPASS
#include "passes/Passes.h.inc"

namespace {

struct SetTopology : impl::SetTopologyPassBase<SetTopology> {
  using SetTopologyPassBase::SetTopologyPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (topology.empty())
      return;
    runtime::Expected<runtime::Topology> loaded =
        runtime::Topology::load(topology);
    if (!loaded) {
      getOperation().emitError(loaded.status().message());
      return signalPassFailure();
    }
    bool isPreset =
        llvm::is_contained(runtime::Topology::presets(), topology.getValue());
    getOperation()->setAttr(
        kTopologyAttr,
        StringAttr::get(&getContext(),
                        isPreset ? topology.getValue() : loaded->toJson()));
  }
};

} // namespace
} // namespace lockstep

//===- SetReplicas.cpp - Fixes the number of replicas ---------------------===//

#include "dialect/Replica/Strategy.h"
#include "passes/Passes.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SETREPLICASPASS
#include "passes/Passes.h.inc"

namespace {
struct SetReplicas : impl::SetReplicasPassBase<SetReplicas> {
  using SetReplicasPassBase::SetReplicasPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (replicas < 0) {
      module.emitError("expected a replica count that is positive, found ") << replicas.getValue();
      return signalPassFailure();
    }
    auto strategies = module.getOps<replica::StrategyOp>();
    if (strategies.empty())
      return addStrategy(module);

    replica::StrategyOp strategy = *strategies.begin();
    std::optional<int64_t> declared = strategy.getReplicas();
    if (replica::StrategyProperties::of(strategy.getKind()).isSingle)
      declared = 1;
    if (!declared && replicas == 0) {
      strategy.emitError("expected a replica count, in the strategy or by --replicas");
      return signalPassFailure();
    }
    if (declared && replicas != 0 && *declared != replicas) {
      strategy.emitError("the strategy has ") << *declared << " replicas, but --replicas asks for " << replicas.getValue();
      return signalPassFailure();
    }
    strategy.setReplicas(declared.value_or(replicas));
  }

  void addStrategy(ModuleOp module) {
    if (replicas == 0) {
      module.emitError("expected a replica count, by --replicas or a 'replica.strategy'");
      return signalPassFailure();
    }
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    replica::Kind kind = replicas == 1 ? replica::Kind::OneDevice : replica::Kind::Mirrored;
    // A variable may have the name already.
    SymbolTable symbols(module);
    symbols.insert(replica::StrategyOp::create(builder, module.getLoc(), "strategy", kind, builder.getI64IntegerAttr(replicas)));
  }
};
} // namespace
} // namespace lockstep

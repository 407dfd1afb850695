//===- Strategy.cpp - What the strategies are -----------------------------===//

#include "dialect/Replica/Strategy.h"

using namespace lockstep::replica;
using namespace mlir;

/// One row a strategy, in the order of `Kind`.
static constexpr StrategyProperties kStrategies[] = {
    // kind, placement, isSingle, hasSeveralWorkers, honoursOnRead, checksDeclarations
    {Kind::Default, Placement::Single, true, false, false, false},
    {Kind::OneDevice, Placement::Single, true, false, false, false},
    {Kind::Mirrored, Placement::Mirrored, false, false, true, true},
    {Kind::MultiWorkerMirrored, Placement::Mirrored, false, true, true, true},
    {Kind::CentralStorage, Placement::Owner, false, false, false, false},
};

const StrategyProperties &StrategyProperties::of(Kind kind) {
  const StrategyProperties &found = kStrategies[static_cast<size_t>(kind)];
  assert(found.kind == kind && "the table is in the order of the kinds");
  return found;
}

const StrategyProperties &StrategyProperties::of(ModuleOp module) {
  auto strategies = module.getOps<StrategyOp>();
  return of(strategies.empty() ? Kind::Default : (*strategies.begin()).getKind());
}

Aggregation lockstep::replica::getStoredAggregation(VariableOp variable) {
  Aggregation aggregation = variable.getAggregation();
  return aggregation == Aggregation::Uniform ? Aggregation::None : aggregation;
}

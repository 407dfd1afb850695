//===- Strategy.cpp - The properties of the strategies --------------------===//

#include "dialect/Replica/Strategy.h"

using namespace lockstep::replica;
using namespace mlir;

/// One row per strategy, in the order of `Kind`.
static constexpr StrategyProperties kStrategies[] = {
    {.kind = Kind::Default,
     .placement = Placement::Single,
     .isImplicit = true,
     .isSingle = true,
     .hasSeveralWorkers = false,
     .collectivesCrossWorkers = true,
     .initializers = ResponsibleProcesses::EachProcess,
     .checkpointers = ResponsibleProcesses::EachProcess,
     .honoursOnRead = false,
     .checksDeclarations = false},
    {.kind = Kind::OneDevice,
     .placement = Placement::Single,
     .isImplicit = false,
     .isSingle = true,
     .hasSeveralWorkers = false,
     .collectivesCrossWorkers = true,
     .initializers = ResponsibleProcesses::EachProcess,
     .checkpointers = ResponsibleProcesses::EachProcess,
     .honoursOnRead = false,
     .checksDeclarations = false},
    {.kind = Kind::Mirrored,
     .placement = Placement::Mirrored,
     .isImplicit = false,
     .isSingle = false,
     .hasSeveralWorkers = false,
     .collectivesCrossWorkers = true,
     .initializers = ResponsibleProcesses::EachProcess,
     .checkpointers = ResponsibleProcesses::EachProcess,
     .honoursOnRead = true,
     .checksDeclarations = true},
    {.kind = Kind::MultiWorkerMirrored,
     .placement = Placement::Mirrored,
     .isImplicit = false,
     .isSingle = false,
     .hasSeveralWorkers = true,
     .collectivesCrossWorkers = true,
     .initializers = ResponsibleProcesses::EachProcess,
     .checkpointers = ResponsibleProcesses::FirstProcess,
     .honoursOnRead = true,
     .checksDeclarations = true},
    {.kind = Kind::CentralStorage,
     .placement = Placement::Owner,
     .isImplicit = false,
     .isSingle = false,
     .hasSeveralWorkers = false,
     .collectivesCrossWorkers = true,
     .initializers = ResponsibleProcesses::FirstProcess,
     .checkpointers = ResponsibleProcesses::FirstProcess,
     .honoursOnRead = false,
     .checksDeclarations = false},
    {.kind = Kind::ParameterServer,
     .placement = Placement::Servers,
     .isImplicit = false,
     .isSingle = true,
     .hasSeveralWorkers = true,
     .collectivesCrossWorkers = false,
     .initializers = ResponsibleProcesses::FirstProcess,
     .checkpointers = ResponsibleProcesses::FirstProcess,
     .honoursOnRead = false,
     .checksDeclarations = false},
    {.kind = Kind::ParameterServerSync,
     .placement = Placement::Servers,
     .isImplicit = false,
     .isSingle = false,
     .hasSeveralWorkers = true,
     .collectivesCrossWorkers = true,
     .initializers = ResponsibleProcesses::FirstProcess,
     .checkpointers = ResponsibleProcesses::FirstProcess,
     .honoursOnRead = false,
     .checksDeclarations = false},
};

const StrategyProperties &StrategyProperties::of(Kind kind) {
  const StrategyProperties &found = kStrategies[static_cast<size_t>(kind)];
  assert(found.kind == kind && "the table is in the order of the kinds");
  return found;
}

const StrategyProperties &StrategyProperties::of(ModuleOp module) {
  auto strategies = module.getOps<StrategyOp>();
  return of(strategies.empty() ? Kind::Default
                               : (*strategies.begin()).getKind());
}

Aggregation lockstep::replica::getStoredAggregation(VariableOp variable) {
  Aggregation aggregation = variable.getAggregation();
  return aggregation == Aggregation::Uniform ? Aggregation::None : aggregation;
}

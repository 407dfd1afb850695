//===- ChooseShardUpdate.cpp - Whether to divide variables ----------------===//

#include "passes/Analysis/ModuleTopology.h"
#include "passes/Analysis/ReadyTimes.h"
#include "passes/Pipelines.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// The first line at which a divided sum is exchanged.
Location getScatterLocation(ModuleOp module) {
  Location found = module.getLoc();
  module.walk([&](collective::StartOp start) {
    if (start.getKind() != collective::Kind::ReduceScatter)
      return WalkResult::advance();
    found = start.getLoc();
    return WalkResult::interrupt();
  });
  return found;
}

bool hasDividedVariables(ModuleOp module) {
  return llvm::any_of(
      module.getOps<replica::VariableOp>(),
      [](replica::VariableOp variable) { return variable.getWholeShape(); });
}

/// Whether a function assigns variables, as a step does.
bool assignsVariables(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto binding =
        function.getResultAttrOfType<device::BindingAttr>(i, "device.binding");
    if (binding && binding.getKind() == device::BindingKind::Variable)
      return true;
  }
  return false;
}

/// The sum of the times that the model predicts for the steps.
double predictSeconds(ModuleOp module, const runtime::Topology &topology,
                      int64_t replicas) {
  SymbolTableCollection symbols;
  OperationTimes times(topology, replicas, symbols);
  double seconds = 0;
  for (auto step : module.getOps<func::FuncOp>())
    if (!step.isExternal() && assignsVariables(step))
      seconds += ReadyTimes(step.getBody().front(), times).getEnd();
  return seconds;
}

/// The lowered module, compiled up to its schedule; null if that fails.
OwningOpRef<ModuleOp> schedule(ModuleOp lowered, CompileOptions options,
                               ShardUpdate mode) {
  options.shardUpdate = mode;
  options.startAfter = Stage::Lower;
  options.stopAfter = Stage::Schedule;
  options.checkOrder = false;
  OwningOpRef<ModuleOp> copy = lowered.clone();
  PassManager pm(lowered.getContext());
  pm.enableVerifier(false);
  buildCompilePipeline(pm, options);
  return succeeded(pm.run(*copy)) ? std::move(copy) : OwningOpRef<ModuleOp>();
}

} // namespace

bool lockstep::mayDivideVariables(ModuleOp module,
                                  const CompileOptions &options) {
  if (options.shardUpdate != ShardUpdate::Auto || !options.optimize ||
      options.stopAfter < Stage::Simplify)
    return false;
  // Errors of the topology are reported where it is set.
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  if (options.topology.empty()) {
    FailureOr<runtime::Topology> found = getTopology(module);
    return succeeded(found) && !found->reducesOnCompute;
  }
  runtime::Expected<runtime::Topology> loaded =
      runtime::Topology::load(options.topology);
  return loaded && !loaded->reducesOnCompute;
}

ShardUpdateChoice lockstep::chooseShardUpdate(ModuleOp lowered,
                                              const CompileOptions &options) {
  ShardUpdateChoice choice{ShardUpdate::Off, 0, 0, lowered.getLoc()};
  // Errors are reported by the compilation that follows.
  ScopedDiagnosticHandler quiet(lowered.getContext(),
                                [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> divided = schedule(lowered, options, ShardUpdate::On);
  if (!divided || !hasDividedVariables(*divided))
    return choice;
  OwningOpRef<ModuleOp> whole = schedule(lowered, options, ShardUpdate::Off);
  FailureOr<runtime::Topology> topology = getTopology(lowered);
  FailureOr<int64_t> replicas = replica::getReplicaCount(lowered);
  if (!whole || failed(topology) || failed(replicas))
    return choice;
  choice.divided = predictSeconds(*divided, *topology, *replicas);
  choice.whole = predictSeconds(*whole, *topology, *replicas);
  if (choice.divided < choice.whole)
    choice.mode = ShardUpdate::On;
  choice.location = getScatterLocation(*divided);
  return choice;
}

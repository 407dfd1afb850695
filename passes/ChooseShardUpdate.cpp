//===- ChooseShardUpdate.cpp - Whether to divide variables ----------------===//

#include "passes/Analysis/ModuleTopology.h"
#include "passes/Analysis/ReadyTimes.h"
#include "passes/Pipelines.h"
#include "passes/Remarks/Remarks.h"

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

FailureOr<ShardUpdateChoice>
lockstep::chooseShardUpdate(ModuleOp lowered, CompileOptions options,
                            RunStages run, RemarkCollector &remarks) {
  FailureOr<runtime::Topology> topology = getTopology(lowered);
  FailureOr<int64_t> replicas = replica::getReplicaCount(lowered);
  if (failed(topology) || failed(replicas))
    return failure();
  std::vector<RemarkCollector::Entry> before = remarks.take();
  auto runStages = [&](ShardUpdateChoice &choice, Stage first, Stage last) {
    options.shardUpdate = choice.mode;
    options.startAfter = first;
    options.stopAfter = last;
    LogicalResult result = run(*choice.scheduled, options);
    llvm::append_range(choice.remarks, remarks.take());
    return result;
  };
  auto finish = [&](ShardUpdateChoice choice) {
    remarks.add(std::move(before));
    return choice;
  };

  ShardUpdateChoice divided{ShardUpdate::On, lowered.clone(), {}};
  if (failed(runStages(divided, Stage::Lower, Stage::Simplify)))
    return failure();
  if (!hasDividedVariables(*divided.scheduled))
    return finish({ShardUpdate::Off, nullptr, {}});
  Location location = getScatterLocation(*divided.scheduled);
  ShardUpdateChoice whole{ShardUpdate::Off, lowered.clone(), {}};
  if (failed(runStages(divided, Stage::Simplify, Stage::Schedule)) ||
      failed(runStages(whole, Stage::Lower, Stage::Schedule)))
    return failure();

  double dividedSeconds =
      predictSeconds(*divided.scheduled, *topology, *replicas);
  double wholeSeconds = predictSeconds(*whole.scheduled, *topology, *replicas);
  ShardUpdateChoice choice = finish(
      dividedSeconds < wholeSeconds ? std::move(divided) : std::move(whole));
  remark::analysis(location, decision(Stage::Simplify, "ShardUpdate", ""))
      << ("by the model of '" + topology->name + "', a step takes " +
          secondsText(dividedSeconds) +
          " with variables divided among the replicas, and " +
          secondsText(wholeSeconds) + " with whole ones");
  return choice;
}

//===- ChooseShardUpdate.cpp - Whether to divide variables ----------------===//

#include "passes/Analysis/ModuleTopology.h"
#include "passes/Analysis/ReadyTimes.h"
#include "passes/Pipelines.h"
#include "passes/Remarks/Remarks.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"

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

FailureOr<ScheduleChoice>
lockstep::chooseShardUpdate(ModuleOp lowered, CompileOptions options,
                            RunStages run, RemarkCollector &remarks) {
  FailureOr<runtime::Topology> topology = getTopology(lowered);
  FailureOr<int64_t> replicas = replica::getReplicaCount(lowered);
  if (failed(topology) || failed(replicas))
    return failure();
  std::vector<RemarkCollector::Entry> before = remarks.take();
  auto runStages = [&](ScheduleChoice &choice, Stage first, Stage last) {
    CompileOptions stages = choice.options;
    stages.startAfter = first;
    stages.stopAfter = last;
    LogicalResult result = run(*choice.scheduled, stages);
    llvm::append_range(choice.remarks, remarks.take());
    return result;
  };
  auto finish = [&](ScheduleChoice choice) {
    remarks.add(std::move(before));
    return choice;
  };

  options.shardUpdate = ShardUpdate::On;
  ScheduleChoice divided{options, lowered.clone(), {}};
  options.shardUpdate = ShardUpdate::Off;
  if (failed(runStages(divided, Stage::Lower, Stage::Simplify)))
    return failure();
  if (!hasDividedVariables(*divided.scheduled))
    return finish({options, nullptr, {}});
  Location location = getScatterLocation(*divided.scheduled);
  ScheduleChoice whole{options, lowered.clone(), {}};
  if (failed(runStages(divided, Stage::Simplify, Stage::Schedule)) ||
      failed(runStages(whole, Stage::Lower, Stage::Schedule)))
    return failure();

  double dividedSeconds =
      predictStepSeconds(*divided.scheduled, *topology, *replicas);
  double wholeSeconds =
      predictStepSeconds(*whole.scheduled, *topology, *replicas);
  ScheduleChoice choice = finish(
      dividedSeconds < wholeSeconds ? std::move(divided) : std::move(whole));
  remark::analysis(location, decision(Stage::Simplify, "ShardUpdate", ""))
      << ("by the model of '" + topology->name + "', a step takes " +
          secondsText(dividedSeconds) +
          " with variables divided among the replicas, and " +
          secondsText(wholeSeconds) + " with whole ones");
  return choice;
}

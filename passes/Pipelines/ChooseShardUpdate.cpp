//===- ChooseShardUpdate.cpp - Whether to divide variables ----------------===//

#include "passes/Analysis/ModuleTopology.h"
#include "passes/Analysis/ReadyTimes.h"
#include "passes/Pipelines/Pipelines.h"
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

int64_t countDividedVariables(ModuleOp module) {
  return llvm::count_if(
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

  auto secondsOf = [&](const ScheduleChoice &choice) {
    return predictStepSeconds(*choice.scheduled, *topology, *replicas);
  };

  options.shardUpdate = ShardUpdate::On;
  ScheduleChoice divided{options, lowered.clone(), {}};
  // With padding, a gradient and a gathered value are copied. The update of a
  // variable that takes no longer to read than these kernels to launch gains
  // less than that, but in the same exchange as others it may cost less.
  options.padFrom = static_cast<int64_t>(2 * topology->compute.launchSeconds *
                                         topology->compute.bytesPerSecond);
  ScheduleChoice unpadded{options, lowered.clone(), {}};
  options.padFrom = 0;
  options.shardUpdate = ShardUpdate::Off;
  if (failed(runStages(divided, Stage::Lower, Stage::Simplify)) ||
      failed(runStages(unpadded, Stage::Lower, Stage::Simplify)))
    return failure();
  int64_t count = countDividedVariables(*divided.scheduled),
          countUnpadded = countDividedVariables(*unpadded.scheduled);
  if (count == 0)
    return finish({options, nullptr, {}});
  Location location = getScatterLocation(*divided.scheduled);
  ScheduleChoice whole{options, lowered.clone(), {}};
  if (failed(runStages(divided, Stage::Simplify, Stage::Schedule)) ||
      failed(runStages(whole, Stage::Lower, Stage::Schedule)))
    return failure();
  if (countUnpadded > 0 && countUnpadded < count) {
    if (failed(runStages(unpadded, Stage::Simplify, Stage::Schedule)))
      return failure();
    if (secondsOf(unpadded) <= secondsOf(divided))
      divided = std::move(unpadded);
  }

  double dividedSeconds = secondsOf(divided), wholeSeconds = secondsOf(whole);
  ScheduleChoice choice = finish(
      dividedSeconds < wholeSeconds ? std::move(divided) : std::move(whole));
  remark::analysis(location, decision(Stage::Simplify, "ShardUpdate", ""))
      << ("by the model of '" + topology->name + "', a step takes " +
          secondsText(dividedSeconds) +
          " with variables divided among the replicas, and " +
          secondsText(wholeSeconds) + " with whole ones");
  return choice;
}

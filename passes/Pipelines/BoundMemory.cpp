//===- BoundMemory.cpp - A schedule for a given amount of memory ----------===//

#include "passes/Analysis/ModuleTopology.h"
#include "passes/Analysis/ReadyTimes.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Remarks/Remarks.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// The bytes of a process with one worker: its variables, the constants, and
/// the largest program's tensors and batch. `planned` has passed all stages.
int64_t countProcessBytes(ModuleOp planned) {
  // Of the memory of all variables, as in the artifact.
  constexpr uint64_t alignment = 64;
  int64_t shared = 0, perReplica = 0, constants = 0, program = 0;
  for (Operation &op : *planned.getBody()) {
    if (auto variable = dyn_cast<device::VariableOp>(op)) {
      if (variable.getRole().value_or(device::kWorkerRole) !=
          device::kWorkerRole)
        continue;
      int64_t end = variable.getOffset() +
                    getByteSize(cast<RankedTensorType>(variable.getType()));
      int64_t &size =
          variable.getSpace() == device::Space::Variable ? shared : perReplica;
      size = std::max<int64_t>(size, llvm::alignTo(end, alignment));
    } else if (auto each = dyn_cast<device::ConstantsOp>(op)) {
      constants +=
          getByteSize(cast<RankedTensorType>(each.getBytes().getType()));
    } else if (auto each = dyn_cast<device::ProgramOp>(op)) {
      if (each.getRole() == device::kWorkerRole)
        program = std::max<int64_t>(program, each.getReplicaSize() +
                                                 each.getSharedSize() +
                                                 each.getInputSize());
    }
  }
  return shared + perReplica + constants + program;
}

/// The bytes of the operands of all collectives, each counted once.
int64_t countExchangedBytes(ModuleOp scheduled) {
  int64_t bytes = 0;
  scheduled.walk([&](collective::StartOp start) {
    bytes += static_cast<int64_t>(start.getContributedBytes().value_or(0));
  });
  return bytes;
}

/// One of the schedules that are compared.
struct Candidate {
  ScheduleChoice choice;
  /// Its options, for people.
  std::string description;
  int64_t bytes = 0;
  double seconds = 0;
};

class ScheduleComparison {
public:
  ScheduleComparison(ModuleOp lowered, CompileOptions options, RunStages run,
                     RemarkCollector &remarks)
      : lowered(lowered), options(std::move(options)), run(run),
        remarks(remarks) {}

  LogicalResult bound(ScheduleChoice &choice);

private:
  FailureOr<ScheduleChoice> schedule(CompileOptions others);
  /// The bytes that a scheduled module needs.
  FailureOr<int64_t> measure(ModuleOp scheduled);
  /// The combinations of options other than those of the first schedule, with
  /// their descriptions; none at -O0. The collectives of a step carry
  /// `exchangedBytes`.
  std::vector<std::pair<CompileOptions, std::string>>
  listOptions(bool mayDivide, int64_t exchangedBytes) const;

  ModuleOp lowered;
  /// Those of the first schedule.
  const CompileOptions options;
  RunStages run;
  RemarkCollector &remarks;
};

} // namespace

FailureOr<ScheduleChoice> ScheduleComparison::schedule(CompileOptions others) {
  others.startAfter = Stage::Lower;
  others.stopAfter = Stage::Schedule;
  ScheduleChoice choice{others, lowered.clone(), {}};
  if (failed(run(*choice.scheduled, others)))
    return failure();
  choice.remarks = remarks.take();
  return choice;
}

FailureOr<int64_t> ScheduleComparison::measure(ModuleOp scheduled) {
  OwningOpRef<ModuleOp> planned = scheduled.clone();
  // The memory of a program does not depend on the code of its kernels.
  CompileOptions memory = options;
  memory.startAfter = Stage::Codegen;
  memory.stopAfter = Stage::Memory;
  if (failed(run(*planned, memory)))
    return failure();
  remarks.take();
  return countProcessBytes(*planned);
}

std::vector<std::pair<CompileOptions, std::string>>
ScheduleComparison::listOptions(bool mayDivide, int64_t exchangedBytes) const {
  std::vector<std::pair<CompileOptions, std::string>> list;
  if (!options.optimize)
    return list;
  auto add = [&](CompileOptions others, const Twine &buckets) {
    std::string text = buckets.str();
    if (mayDivide)
      text += others.shardUpdate == ShardUpdate::On ? ", divided variables"
                                                    : ", whole variables";
    if (!others.overlap)
      text += ", no overlap";
    list.emplace_back(std::move(others), std::move(text));
  };
  SmallVector<ShardUpdate> modes = {options.shardUpdate};
  if (mayDivide)
    modes = {ShardUpdate::On, ShardUpdate::Off};
  for (ShardUpdate mode : modes)
    for (bool overlap : {true, false}) {
      if (overlap && !options.overlap)
        continue;
      CompileOptions others = options;
      others.shardUpdate = mode;
      others.padFrom = 0;
      if (options.splitVariables)
        others.pieces.clear();
      others.overlap = overlap;
      bool plan = options.bucket && options.planBuckets;
      if (mode != options.shardUpdate || overlap != options.overlap ||
          options.padFrom != 0 || others.pieces != options.pieces)
        add(others, plan ? "optimal buckets" : "the given buckets");
      if (!plan)
        continue;
      if (overlap && options.orderKernels) {
        others.orderKernels = false;
        add(others, "optimal buckets, kernels not moved for the link");
      }
      others.planBuckets = false;
      // A bucket of everything needs no less than the first schedule.
      auto half = llvm::bit_floor(static_cast<uint64_t>(exchangedBytes) / 2);
      for (int shift : {0, 1, 3, 5}) {
        auto bytes = static_cast<int64_t>(half >> shift);
        if (bytes == 0)
          break;
        others.bytesPerPack = bytes;
        add(others, "buckets of at most " + bytesText(bytes));
      }
      others.bucket = false;
      add(others, "no buckets");
    }
  return list;
}

LogicalResult ScheduleComparison::bound(ScheduleChoice &choice) {
  // `chooseShardUpdate` makes a schedule only where both modes are possible.
  bool mayDivide = static_cast<bool>(choice.scheduled);
  FailureOr<runtime::Topology> topology = getTopology(lowered);
  FailureOr<int64_t> replicas = replica::getReplicaCount(lowered);
  if (failed(topology) || failed(replicas))
    return failure();
  if (!choice.scheduled) {
    FailureOr<ScheduleChoice> first = schedule(options);
    if (failed(first))
      return failure();
    choice = std::move(*first);
  }
  FailureOr<int64_t> bytes = measure(*choice.scheduled);
  if (failed(bytes))
    return failure();
  if (*bytes <= options.memoryBound)
    return success();

  double seconds = predictStepSeconds(*choice.scheduled, *topology, *replicas);
  int64_t least = *bytes;
  std::optional<Candidate> best;
  for (auto &[others, description] :
       listOptions(mayDivide, countExchangedBytes(*choice.scheduled))) {
    FailureOr<ScheduleChoice> made = schedule(others);
    if (failed(made))
      return failure();
    Candidate candidate{std::move(*made), description};
    ModuleOp scheduled = *candidate.choice.scheduled;
    FailureOr<int64_t> needed = measure(scheduled);
    if (failed(needed))
      return failure();
    candidate.bytes = *needed;
    candidate.seconds = predictStepSeconds(scheduled, *topology, *replicas);
    least = std::min(least, candidate.bytes);
    if (candidate.bytes <= options.memoryBound &&
        (!best || candidate.seconds < best->seconds))
      best = std::move(candidate);
  }
  auto steps = lowered.getOps<func::FuncOp>();
  Location location =
      steps.empty() ? lowered.getLoc() : (*steps.begin()).getLoc();
  if (!best)
    return emitError(location)
           << "expected at most " << options.memoryBound
           << " bytes in a process with one replica, found " << least << " ("
           << bytesText(least) << ") with the schedule that needs least";
  remark::analysis(location, decision(Stage::Schedule, "MemoryBound", ""))
      << ("without a bound, the schedule needs " + std::to_string(*bytes) +
          " bytes in a process with one replica, more than " +
          std::to_string(options.memoryBound) + "; one with " +
          best->description + " needs " + std::to_string(best->bytes) +
          ", and by the model of '" + topology->name + "' a step takes " +
          secondsText(best->seconds) + " instead of " + secondsText(seconds));
  choice = std::move(best->choice);
  return success();
}

LogicalResult lockstep::boundMemory(ModuleOp lowered, RunStages run,
                                    RemarkCollector &remarks,
                                    ScheduleChoice &choice) {
  std::vector<RemarkCollector::Entry> before = remarks.take();
  ScheduleComparison comparison(lowered, choice.options, run, remarks);
  LogicalResult result = comparison.bound(choice);
  remarks.add(std::move(before));
  return result;
}

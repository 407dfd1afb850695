//===- ChooseShardUpdate.cpp - Whether to divide variables ----------------===//

#include "passes/Analysis/ModuleTopology.h"
#include "passes/Analysis/ReadyTimes.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Remarks/Remarks.h"
#include "passes/Simplify/DividedUpdates.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SetVector.h"

#include <set>

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

/// Doubling the pieces of a variable must shorten a step by at least this
/// fraction: more kernels, and more collectives, have to be worth it.
constexpr double kLeastGain = 0.01;
/// A bound on the time of the compiler: on the schedules with pieces.
constexpr unsigned kMostSplits = 6;

/// The symbol of the variable whose new value a step computes from `sum`, or
/// null: of several, one that the step gathers, such as the parameter, not its
/// momentum.
StringAttr findUpdated(Value sum) {
  auto function = cast<func::FuncOp>(sum.getParentBlock()->getParentOp());
  llvm::SetVector<StringAttr> names;
  llvm::SetVector<Value> dependent;
  dependent.insert(sum);
  for (unsigned i = 0; i < dependent.size(); ++i)
    for (OpOperand &use : dependent[i].getUses()) {
      dependent.insert_range(use.getOwner()->getResults());
      if (!isa<func::ReturnOp>(use.getOwner()))
        continue;
      if (StringAttr name = getBoundVariable(function, use.getOperandNumber()))
        names.insert(name);
    }
  auto gathered =
      llvm::find_if(function.getArguments(), [&](BlockArgument argument) {
        return names.contains(getBoundVariable(function, argument)) &&
               llvm::any_of(argument.getUsers(),
                            llvm::IsaPred<collective::StartOp>);
      });
  if (gathered != function.getArguments().end())
    return getBoundVariable(function, *gathered);
  return names.empty() ? nullptr : names.front();
}

/// The names of variables for whose gradients the steps of a schedule wait at
/// least `kLeastGain` of their time: those waited for longest first.
SmallVector<std::string> listAwaited(ModuleOp scheduled,
                                     const runtime::Topology &topology,
                                     int64_t replicas, double stepSeconds) {
  SymbolTableCollection symbols;
  OperationTimes times(topology, replicas, symbols);
  SmallVector<std::pair<double, collective::StartOp>> found;
  for (auto step : scheduled.getOps<func::FuncOp>()) {
    if (step.isExternal())
      continue;
    Block &body = step.getBody().front();
    ReadyTimes ready(body, times);
    for (auto start : body.getOps<collective::StartOp>())
      if (start.getKind() == collective::Kind::ReduceScatter) {
        double waited = ready.of(start) + times.of(start) - ready.readAt(start);
        if (waited >= kLeastGain * stepSeconds)
          found.emplace_back(waited, start);
      }
  }
  llvm::stable_sort(
      found, [](const auto &a, const auto &b) { return a.first > b.first; });
  SmallVector<std::string> names;
  for (auto &[waited, start] : found) {
    auto wait = cast<collective::WaitOp>(*start->user_begin());
    Value largest =
        *llvm::max_element(wait->getResults(), [](Value a, Value b) {
          return getStaticByteSize(cast<RankedTensorType>(a.getType())) <
                 getStaticByteSize(cast<RankedTensorType>(b.getType()));
        });
    StringAttr symbol = findUpdated(largest);
    if (!symbol)
      continue;
    auto variable =
        symbols.lookupSymbolIn<replica::VariableOp>(scheduled, symbol);
    auto piece = variable->getAttrOfType<device::ShardAttr>(device::kShard);
    names.push_back((piece ? piece.getOf() : variable.getStoredName()).str());
  }
  return names;
}

/// Whether the variables have been split, and all pieces are divided.
bool areDivided(ModuleOp module, const std::map<std::string, int64_t> &pieces) {
  std::map<std::string, int64_t> found;
  for (auto variable : module.getOps<replica::VariableOp>())
    if (auto piece =
            variable->getAttrOfType<device::ShardAttr>(device::kShard)) {
      if (!variable.getWholeShape())
        return false;
      ++found[piece.getOf().str()];
    }
  return llvm::all_of(pieces, [&](const auto &split) {
    return found[split.first] == split.second;
  });
}

/// Why the variable `name` has not been split, or not been divided.
std::string whyNotSplit(const std::string &name,
                        ArrayRef<RemarkCollector::Entry> remarks) {
  std::string text = "variable '" + name + "' is not split: ";
  for (const RemarkCollector::Entry &remark : remarks)
    if (StringRef(remark.message).starts_with(text))
      return remark.message;
  return text + "the replicas cannot divide its pieces";
}

/// "the gradients of 'params/w0' in 2 pieces, of 'params/w1' in 4 pieces"
std::string piecesText(const std::map<std::string, int64_t> &pieces) {
  std::string text = pieces.size() == 1 ? "the gradient" : "the gradients";
  for (auto [i, split] : llvm::enumerate(pieces))
    text += (i == 0 ? " of '" : ", of '") + split.first + "' in " +
            countText(split.second, "piece");
  return text;
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
  double atOnceSeconds = dividedSeconds;
  // Variables of which more pieces gain nothing, and why others are not split.
  std::set<std::string> refused;
  std::vector<std::string> reasons;
  bool maySplit = options.splitVariables && dividedSeconds < wholeSeconds;
  for (unsigned i = 0; i < kMostSplits && maySplit; ++i) {
    SmallVector<std::string> awaited =
        listAwaited(*divided.scheduled, *topology, *replicas, dividedSeconds);
    auto name = llvm::find_if_not(awaited, [&](const std::string &each) {
      return refused.contains(each);
    });
    if (name == awaited.end())
      break;
    refused.insert(*name);
    ScheduleChoice split{divided.options, lowered.clone(), {}};
    int64_t &pieces = split.options.pieces[*name];
    pieces = pieces == 0 ? 2 : 2 * pieces;
    if (failed(runStages(split, Stage::Lower, Stage::Simplify)))
      return failure();
    if (!areDivided(*split.scheduled, split.options.pieces)) {
      if (pieces == 2)
        reasons.push_back(whyNotSplit(*name, split.remarks));
      continue;
    }
    if (failed(runStages(split, Stage::Simplify, Stage::Schedule)))
      return failure();
    double seconds = secondsOf(split);
    if (seconds > (1 - kLeastGain) * dividedSeconds)
      continue;
    refused.erase(*name);
    dividedSeconds = seconds;
    divided = std::move(split);
  }
  ScheduleChoice choice = finish(
      dividedSeconds < wholeSeconds ? std::move(divided) : std::move(whole));
  remark::analysis(location, decision(Stage::Simplify, "ShardUpdate", ""))
      << ("by the model of '" + topology->name + "', a step takes " +
          secondsText(dividedSeconds) +
          " with variables divided among the replicas, and " +
          secondsText(wholeSeconds) + " with whole ones");
  for (const std::string &reason : reasons)
    remark::missed(location, decision(Stage::Simplify, "NotSplit", ""))
        << reason;
  if (!choice.options.pieces.empty())
    remark::analysis(location, decision(Stage::Simplify, "Pieces", ""))
        << ("a step takes " + secondsText(dividedSeconds) + " with " +
            piecesText(choice.options.pieces) + ", and " +
            secondsText(atOnceSeconds) +
            " with each gradient exchanged at once");
  return choice;
}

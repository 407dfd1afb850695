//===- Witness.cpp - Search for counterexamples ---------------------------===//

#include "passes/Verify/Witness.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Reference/Interpreter.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Verify/Sequence.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include <algorithm>

using namespace lockstep;
using namespace mlir;
using interpret::FailureKind;
using Data = interpret::Value;

/// Budgets in element operations: for all errors of one function, the most for
/// one run, and the first limit of a run (which may not terminate). Copying an
/// operation into a slice costs `kCopied`.
static constexpr int64_t kBudget = 1'000'000'000, kMostOfRun = kBudget / 4,
                         kLeastOfRun = 1'000'000, kCopied = 256;
/// The most runs of one search, and the most replicas, each of which has a
/// thread.
static constexpr uint64_t kMostRuns = 200;
static constexpr int64_t kMostReplicas = 64;

namespace {
/// The paths that each replica has taken through numbered branches of a slice.
struct Trace {
  llvm::DenseMap<Operation *, unsigned> numbers;
  std::vector<std::vector<SmallVector<int64_t, 4>>> paths;

  void clear(int64_t replicas, size_t branches) {
    paths.assign(branches, std::vector<SmallVector<int64_t, 4>>(replicas));
  }

  /// Two replicas that took different paths in one execution of the branch.
  std::optional<RankPair> findSplit(unsigned branch) const {
    for (unsigned one = 0; one < paths[branch].size(); ++one)
      for (unsigned other = one + 1; other < paths[branch].size(); ++other) {
        ArrayRef<int64_t> mine = paths[branch][one],
                          others = paths[branch][other];
        size_t both = std::min(mine.size(), others.size());
        if (mine.take_front(both) != others.take_front(both))
          return RankPair(one, other);
      }
    return std::nullopt;
  }
};
} // namespace

/// Executes one slice.
class WitnessSearch::Runner {
public:
  Runner(FunctionOpInterface function, int64_t replicas,
         ArrayRef<OpOperand *> criteria, ArrayRef<Operation *> branches,
         int64_t &budget)
      : slice(function, replicas, criteria), replicas(replicas),
        numBranches(branches.size()), budget(budget) {
    ScopedDiagnosticHandler silent(function.getContext(),
                                   [](Diagnostic &) { return success(); });
    llvm::DenseMap<Operation *, unsigned> numbers;
    for (auto [number, branch] : llvm::enumerate(branches))
      numbers[branch] = number;
    for (auto [copy, original] : slice.originals)
      if (auto found = numbers.find(original); found != numbers.end())
        trace.numbers[copy] = found->second;
    auto created = interpret::Interpreter::create(*slice.module);
    if (failed(created) || !(*created)->canRun(slice.function))
      return;
    // The cost of waiting in each collective, assuming that none is in a loop.
    SymbolTableCollection symbols;
    slice.function->walk([&](Operation *op) {
      runBudget += isCollective(op, symbols) && !interpret::isWithoutUse(op)
                       ? replicas * interpret::kCostOfWait
                       : 0;
    });
    runBudget = std::min(runBudget, kMostOfRun);
    interpreter = std::move(*created);
    draws.emplace(slice, replicas);
    interpret::RunOptions options;
    options.scheduleSeed = 0;
    options.switchesOnlyAtWaits = true;
    options.unusedCollectivesWaitLate = true;
    options.budget = &left;
    options.onBranch = [this](int64_t replica, Operation *branch,
                              int64_t region) {
      if (auto found = trace.numbers.find(branch);
          replica >= 0 && found != trace.numbers.end())
        trace.paths[found->second][replica].push_back(region);
    };
    interpreter->setOptions(options);
  }

  bool canRun() const { return interpreter != nullptr; }

  /// The error of run `number`; one without an operation if it ends.
  interpret::Failure run(uint64_t number) {
    int64_t allowed = std::min(budget, runBudget);
    left = allowed;
    interpret::Failure failure = runWithin(number);
    int64_t used = allowed - left;
    budget -= used;
    // As long as no run has terminated, allow longer ones.
    bool isTooLong = failure.op && failure.kind == FailureKind::TooLong;
    if (!isTooLong)
      longest = std::max(longest, used);
    runBudget = std::min(kMostOfRun, isTooLong && longest == 0
                                         ? runBudget * 2
                                         : std::max(runBudget, longest * 4));
    return failure;
  }

  /// The operation of the function of which `op` is a copy; null for a
  /// variable.
  Operation *getOriginal(Operation *op) const {
    return slice.originals.lookup(op);
  }

  ControlSlice slice;
  Trace trace;
  std::shared_ptr<InputSample> draw;
  /// For each replica, its results that are not the new value of a variable.
  std::vector<SmallVector<Data>> results;

private:
  interpret::Failure runWithin(uint64_t number) {
    ScopedDiagnosticHandler silent(slice.function.getContext(),
                                   [](Diagnostic &) { return success(); });
    if (draws->getSize() > left) {
      left = 0;
      return {FailureKind::TooLong, slice.function};
    }
    left -= draws->getSize();
    draw = std::make_shared<InputSample>(draws->draw(number));
    trace.clear(replicas, numBranches);
    for (auto &[name, variable] : interpreter->variables())
      variable.copies.assign(replicas, draw->variables[name]);
    results.assign(replicas, {});
    return succeeded(execute()) ? interpret::Failure()
                                : interpreter->getFailure();
  }

  LogicalResult execute() {
    Operation *function = slice.function;
    if (auto program = dyn_cast<replica::ProgramOp>(function)) {
      interpreter->setBatches(draw->batches);
      SmallVector<Data> given, yielded;
      for (auto [index, type] :
           llvm::enumerate(slice.function.getArgumentTypes())) {
        std::vector<Data> components;
        for (const std::vector<Data> &mine : draw->arguments)
          components.push_back(mine[index]);
        given.push_back(isa<replica::PerReplicaType>(type)
                            ? Data::perReplica(std::move(components))
                            : components.front());
      }
      return interpreter->run(program, given, yielded);
    }
    std::vector<SmallVector<Data>> given(replicas);
    for (auto [mine, values] : llvm::zip_equal(given, draw->arguments))
      for (auto [index, value] : llvm::enumerate(values))
        if (RandomInputs::isGiven(slice.function, index))
          mine.push_back(value);
    if (auto step = dyn_cast<replica::StepOp>(function))
      return interpreter->run(step, given, results);
    return interpreter->run(cast<func::FuncOp>(function), given, results);
  }

  int64_t replicas;
  size_t numBranches;
  int64_t &budget;
  /// The budget of the next run, what is left of that of the current run, and
  /// the most that a run which terminated has used.
  int64_t runBudget = kLeastOfRun, left = 0, longest = 0;
  std::unique_ptr<interpret::Interpreter> interpreter;
  std::optional<RandomInputs> draws;
};

/// The number of replicas; if it is not known, the smallest one possible.
static int64_t countReplicas(FunctionOpInterface function,
                             const UniformityAnalysis &uniformity) {
  auto module = function->getParentOfType<ModuleOp>();
  for (auto strategy : module.getOps<replica::StrategyOp>())
    if (std::optional<int64_t> replicas = strategy.getReplicas())
      return *replicas;
  for (auto role : module.getOps<device::RoleOp>())
    if (role.getFirstRank() == 0)
      return role.getRanks();
  return std::max<int64_t>(2, uniformity.getPartitions().getNumRanks());
}

WitnessSearch::WitnessSearch(FunctionOpInterface function,
                             const UniformityAnalysis &uniformity)
    : function(function), replicas(countReplicas(function, uniformity)),
      budget(kBudget) {}
WitnessSearch::~WitnessSearch() = default;

std::unique_ptr<WitnessSearch::Runner>
WitnessSearch::makeRunner(ArrayRef<OpOperand *> criteria,
                          ArrayRef<Operation *> branches) {
  effort = {replicas > kMostReplicas ? Effort::TooManyReplicas
            : budget == 0            ? Effort::TooLong
                                     : Effort::Tried};
  if (effort.end != Effort::Tried)
    return nullptr;
  int64_t operations = 0;
  function->walk([&](Operation *) { ++operations; });
  budget = std::max<int64_t>(0, budget - operations * kCopied);
  auto runner =
      std::make_unique<Runner>(function, replicas, criteria, branches, budget);
  if (runner->canRun())
    return runner;
  effort.end = Effort::NotExecuted;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Searches
//===----------------------------------------------------------------------===//

bool WitnessSearch::note(const interpret::Failure &failure) {
  if (failure.op && failure.kind == FailureKind::TooLong)
    effort.end = Effort::TooLong;
  else
    ++effort.runs;
  return failure.op != nullptr;
}

void WitnessSearch::searchBlocked(ArrayRef<Operation *> refused) {
  isSearched = true;
  branches.insert_range(refused);
  // Branches inside of a refused one have not been checked and may be the
  // cause.
  for (Operation *branch : refused)
    branch->walk([&](Operation *inner) {
      if (isa<RegionBranchOpInterface, BranchOpInterface>(inner))
        branches.insert(inner);
    });
  std::unique_ptr<Runner> runner = makeRunner({}, branches.getArrayRef());
  if (!runner)
    return;
  Branches alone;
  for (uint64_t number = 0;
       number < kMostRuns && budget > 0 && alone.size() < refused.size();
       ++number) {
    interpret::Failure failure = runner->run(number);
    if (!note(failure) || failure.kind != FailureKind::Blocked)
      continue;
    Branches split;
    Blocked found{runner->draw, {}};
    for (unsigned branch = 0; branch < branches.size(); ++branch)
      if (std::optional<RankPair> ranks = runner->trace.findSplit(branch)) {
        split.insert(branch);
        found.ranks[branch] = *ranks;
      }
    if (split.size() == 1 && *split.begin() < refused.size())
      alone.insert(*split.begin());
    // A deadlock with a subset of the divergent branches shows that the others
    // are not the cause.
    if (llvm::any_of(blocked, [&](auto &other) {
          return llvm::includes(split, other.first);
        }))
      continue;
    for (auto it = blocked.begin(); it != blocked.end();)
      it = llvm::includes(it->first, split) ? blocked.erase(it) : std::next(it);
    blocked.emplace(std::move(split), std::move(found));
  }
}

std::optional<Witness>
WitnessSearch::findBlocked(Operation *branch, ArrayRef<Operation *> refused) {
  if (!isSearched) {
    searchBlocked(refused);
    effortForBlocked = effort;
  }
  effort = effortForBlocked;
  const Blocked *inside = nullptr;
  unsigned fault = 0;
  for (auto &[split, found] : blocked)
    for (unsigned number : split) {
      if (branches[number] == branch)
        return Witness{found.inputs, found.ranks.at(number), branch};
      if (!inside && branch->isProperAncestor(branches[number])) {
        inside = &found;
        fault = number;
      }
    }
  if (!inside)
    return std::nullopt;
  return Witness{inside->inputs, inside->ranks.at(fault), branches[fault]};
}

/// The variable whose new value the result is; empty if there is none.
static StringRef getVariable(FunctionOpInterface function, unsigned result) {
  auto binding = function.getResultAttrOfType<device::BindingAttr>(
      result, "device.binding");
  return binding && binding.getKind() == device::BindingKind::Variable
             ? binding.getName()
             : StringRef();
}

std::optional<Witness>
WitnessSearch::findDifferent(Operation *place, Value value, Operation *branch) {
  SmallVector<OpOperand *> criteria;
  for (OpOperand &operand : place->getOpOperands())
    if (!value || operand.get() == value)
      criteria.push_back(&operand);
  // A result of the place is the value that its region yields.
  if (auto result = dyn_cast_or_null<OpResult>(value);
      result && result.getOwner() == place)
    for (Region &region : place->getRegions())
      for (Block &block : region)
        if (block.hasNoSuccessors())
          criteria.push_back(
              &block.getTerminator()->getOpOperand(result.getResultNumber()));
  // Other writes to the same variable decide whether the copies differ in the
  // end.
  if (auto variable = place->getAttrOfType<FlatSymbolRefAttr>("variable"))
    function->walk([&](Operation *op) {
      if (op != place && op->getAttr("variable") == variable)
        for (OpOperand &operand : op->getOpOperands())
          criteria.push_back(&operand);
    });
  SmallVector<Operation *> branches;
  if (branch)
    branches.push_back(branch);
  std::unique_ptr<Runner> runner = makeRunner(criteria, branches);
  if (!runner)
    return std::nullopt;
  bool returns = place->getParentOp() == function &&
                 place->hasTrait<OpTrait::ReturnLike>();
  // Two replicas between which a result among the criteria differs.
  auto findDifferentResults = [&]() -> std::optional<RankPair> {
    unsigned position = 0;
    for (unsigned result = 0; result < place->getNumOperands(); ++result) {
      if (!getVariable(function, result).empty())
        continue;
      bool isCriterion =
          llvm::is_contained(criteria, &place->getOpOperand(result));
      for (unsigned replica = 1;
           isCriterion && replica < runner->results.size(); ++replica)
        if (position < runner->results[replica].size() &&
            !runner->results[replica][position].isIdentical(
                runner->results[0][position]))
          return RankPair(0, replica);
      ++position;
    }
    return std::nullopt;
  };
  // Two replicas whose copies differ because of `place`.
  auto findDifferentCopies =
      [&](const interpret::Variable &variable) -> std::optional<RankPair> {
    auto [one, other] = *variable.findDifferentCopies();
    auto hasWritten = [&](unsigned replica) {
      return llvm::any_of(variable.writers[replica], [&](Operation *op) {
        return runner->getOriginal(op) == place;
      });
    };
    replica::VariableOp declaration = variable.op;
    auto isBound = [&](OpOperand *operand) {
      return getVariable(function, operand->getOperandNumber()) ==
             declaration.getSymName();
    };
    bool isHere = returns ? llvm::any_of(criteria, isBound)
                          : hasWritten(one) || hasWritten(other);
    return isHere ? std::optional(RankPair(one, other)) : std::nullopt;
  };
  for (uint64_t number = 0; number < kMostRuns && budget > 0; ++number) {
    interpret::Failure failure = runner->run(number);
    (void)note(failure);
    std::optional<RankPair> ranks;
    if (!failure.op && returns && !isa<replica::ProgramOp>(*function))
      ranks = findDifferentResults();
    else if (failure.variable)
      ranks = findDifferentCopies(*failure.variable);
    else if (failure.op && runner->getOriginal(failure.op) == place &&
             (failure.kind == FailureKind::ValuesDiffer ||
              failure.kind == FailureKind::ShapesDiffer))
      ranks = RankPair(0, 1);
    if (ranks && branch)
      ranks = runner->trace.findSplit(0);
    if (ranks)
      return Witness{runner->draw, *ranks, branch};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

std::string WitnessSearch::describeEffort() const {
  if (effort.runs > 0)
    return "no example was found in " + std::to_string(effort.runs) +
           (effort.runs == 1 ? " run" : " runs");
  switch (effort.end) {
  case Effort::Tried:
  case Effort::TooLong:
    return "what it is computed from takes too many operations to try";
  case Effort::TooManyReplicas:
    return "with more than " + std::to_string(kMostReplicas) +
           " replicas nothing is tried";
  case Effort::NotExecuted:
    return "it cannot be interpreted";
  }
  llvm_unreachable("unknown effort");
}

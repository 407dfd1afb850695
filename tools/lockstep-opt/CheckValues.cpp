//===- CheckValues.cpp - checks that passes preserve values ---------------===//

#include "tools/lockstep-opt/CheckValues.h"

#include "dialect/Replica/ReplicaDialect.h"
#include "tools/lockstep-opt/NativeKernels.h"

#include "mlir/Pass/Pass.h"

using namespace lockstep;
using namespace lockstep::opt;
using namespace mlir;

/// The number of random inputs for each pass.
static constexpr uint64_t kSeeds = 2;

/// Whether a pass only runs passes on nested operations; these are checked
/// themselves.
static bool isAdaptor(Pass *pass) {
  return pass->getName().contains("OpToOpPassAdaptor");
}

/// Whether `pass` defines semantics: how reductions round, or where the
/// aggregation of an assignment is applied, which no operation represents
/// between the first and the last of these passes.
static bool decidesMeaning(Pass *pass, ModuleOp module) {
  if (pass->getArgument() == "widen-accumulation")
    return true;
  auto aggregates = [](replica::VariableOp variable) {
    return variable.getAggregation() != replica::Aggregation::None &&
           variable.getAggregation() != replica::Aggregation::Uniform;
  };
  return llvm::is_contained(
             {"splice-contexts", "lower-replica", "lower-variables"},
             pass->getArgument()) &&
         llvm::any_of(module.getOps<replica::VariableOp>(), aggregates);
}

/// Whether both modules have the same variables; otherwise values of one name
/// are not comparable.
static bool haveSameVariables(ModuleOp first, ModuleOp second) {
  auto list = [](ModuleOp module) {
    std::vector<std::pair<StringRef, Type>> variables;
    for (auto variable : module.getOps<replica::VariableOp>())
      variables.emplace_back(variable.getSymName(), variable.getType());
    return variables;
  };
  auto before = list(first), after = list(second);
  // A pass declares the variables of captured functions.
  return before.empty() || after.empty() || before == after;
}

/// The innermost module that contains the operation of the pass.
static ModuleOp getModule(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  return module ? module : op->getParentOfType<ModuleOp>();
}

void CheckValues::runBeforePass(Pass *pass, Operation *op) {
  if (isAdaptor(pass))
    return;
  ModuleOp module = getModule(op);
  before.push_back(module ? module.clone() : ModuleOp());
}

void CheckValues::runAfterPassFailed(Pass *pass, Operation *) {
  if (!isAdaptor(pass))
    before.pop_back();
}

void CheckValues::compare(Pass *pass, Operation *op, const std::string &name,
                          const Outcome &expected, const Outcome &found) {
  std::optional<std::string> difference = findDifference(expected, found);
  if (!difference)
    return;
  summary.foundDifference = true;
  StringRef argument =
      pass->getArgument().empty() ? pass->getName() : pass->getArgument();
  emitError(op->getLoc()) << "'" << argument
                          << "' changes what is computed: " << name << ", "
                          << *difference;
}

void CheckValues::runAfterPass(Pass *pass, Operation *op) {
  if (isAdaptor(pass))
    return;
  OwningOpRef<ModuleOp> old = std::move(before.back());
  before.pop_back();
  ModuleOp module = getModule(op);
  if (!old || !module)
    return;
  if (decidesMeaning(pass, *old) || !haveSameVariables(*old, module)) {
    ++summary.skipped;
    return;
  }
  unsigned compared = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    OwningOpRef<ModuleOp> first = old->clone(), second = module.clone();
    Outcomes expected = execute(*first, seed), found = execute(*second, seed);
    for (const auto &[name, outcome] : expected)
      if (auto other = found.find(name); other != found.end()) {
        ++compared;
        compare(pass, op, name, outcome, other->second);
      }
    if (pass->getArgument() != "generate-code")
      continue;
    for (const auto &[name, outcome] : executeNatively(module, seed))
      if (auto other = found.find(name); other != found.end())
        compare(pass, op, name, other->second, outcome);
  }
  ++(compared ? summary.compared : summary.skipped);
}

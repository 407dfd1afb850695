//===- lockstep-check-plan.cpp - Proves that a memory plan is right -------===//
//
//   lockstep-check-plan BEFORE.mlir [AFTER.mlir]
//
// BEFORE holds steps as functions of kernel invocations and collectives, AFTER
// the programs generated from them; without AFTER, `plan-memory` is run here,
// with and without reuse. Each step runs on tensors and on memory, as terms
// (Terms.h), under several choices of branches and bounds; both runs must
// exchange, return and store in variables the same terms. That holds only if no
// two live values share bytes. The check does not use live ranges, so it is
// independent of the planner.
//
//===----------------------------------------------------------------------===//

#include "MemoryRun.h"
#include "TensorRun.h"

#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Passes.h"
#include "passes/Pipelines/Pipelines.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"

using namespace lockstep;
using namespace lockstep::test;
using namespace mlir;

static LogicalResult compare(device::ProgramOp program, const Trace &tensors,
                             const Trace &memory, const Terms &terms) {
  if (tensors.exchanges != memory.exchanges) {
    InFlightDiagnostic diag =
        program.emitError("exchanges something else than its step");
    for (const auto &[name, trace] :
         {std::pair("step", &tensors), std::pair("program", &memory)})
      for (const std::string &exchange : trace->exchanges)
        diag.attachNote() << name << ": " << exchange;
    return diag;
  }
  for (const auto &[name, term] : tensors.results)
    if (auto it = memory.results.find(name);
        it == memory.results.end() || it->second != term)
      return program.emitError("expected ")
             << name << " to be " << terms.print(term) << ", found "
             << (it == memory.results.end() ? "nothing"
                                            : terms.print(it->second));
  if (tensors.results.size() != memory.results.size())
    return program.emitError("has ")
           << memory.results.size() << " results, its step "
           << tensors.results.size();
  return success();
}

/// Checks the programs of `after` against the functions of `before`.
static LogicalResult check(ModuleOp before, ModuleOp after) {
  constexpr unsigned kRuns = 16;
  auto strategies = before.getOps<replica::StrategyOp>();
  if (strategies.empty() || !(*strategies.begin()).getReplicas())
    return before.emitError(
        "expected a 'replica.strategy' with a replica count");
  for (auto step : before.getOps<func::FuncOp>()) {
    auto program = after.lookupSymbol<device::ProgramOp>(step.getSymName());
    if (!program)
      return step.emitError("has no program");
    for (unsigned seed = 0; seed < kRuns; ++seed) {
      Terms terms(seed);
      FailureOr<Trace> tensors = runTensors(step, terms);
      if (failed(tensors))
        return failure();
      FailureOr<Trace> memory = runMemory(
          program, before, *(*strategies.begin()).getReplicas(), terms);
      if (failed(memory) || failed(compare(program, *tensors, *memory, terms)))
        return failure();
      if (!terms.hasDecided())
        break;
    }
  }
  return success();
}

static LogicalResult checkPlanned(ModuleOp before) {
  for (bool reuse : {false, true}) {
    OwningOpRef<ModuleOp> after = before.clone();
    PassManager pm(before.getContext());
    PlanMemoryPassOptions options;
    options.reuse = reuse;
    pm.addPass(createPlanMemoryPass(options));
    if (failed(pm.run(*after)) || failed(check(before, *after)))
      return failure();
  }
  return success();
}

static OwningOpRef<ModuleOp> parse(StringRef path, llvm::SourceMgr &sources,
                                   MLIRContext &context) {
  std::string error;
  auto file = openInputFile(path, &error);
  if (!file) {
    llvm::errs() << error << "\n";
    return {};
  }
  sources.AddNewSourceBuffer(std::move(file), SMLoc());
  return parseSourceFile<ModuleOp>(sources, &context);
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3) {
    llvm::errs() << "usage: lockstep-check-plan BEFORE.mlir [AFTER.mlir]\n";
    return 2;
  }
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  llvm::SourceMgr sources, afterSources;
  SourceMgrDiagnosticHandler handler(sources, &context),
      afterHandler(afterSources, &context);
  OwningOpRef<ModuleOp> before = parse(argv[1], sources, context);
  if (!before)
    return 1;
  if (argc == 2)
    return failed(checkPlanned(*before));
  OwningOpRef<ModuleOp> after = parse(argv[2], afterSources, context);
  return !after || failed(check(*before, *after));
}

//===- lockstep-interpret.cpp - reference interpreter ---------------------===//

#include "dialect/Interfaces/Parsing.h"
#include "passes/Pipelines/Pipelines.h"
#include "tools/lockstep-interpret/Arguments.h"
#include "tools/support/NumberParser.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

namespace cl = llvm::cl;
using namespace lockstep;

namespace {

int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "lockstep-interpret") << message << "\n";
  return 1;
}

template <typename T>
using NumberOption =
    cl::opt<T, /*ExternalStorage=*/false, tools::NumberParser<T, fail>>;

/// The options of the command line. Constructed in `main`.
struct CommandLine {
  cl::OptionCategory category{"lockstep-interpret options"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<step.mlir>"),
                             cl::init("-"), cl::cat(category)};
  NumberOption<long long> replicas{
      "replicas", cl::desc("number of replicas, if the module does not say it"),
      cl::init(0), cl::cat(category)};
  cl::opt<std::string> strategy{
      "strategy",
      cl::desc("kind of the strategy, if the module does not say it"),
      cl::value_desc("kind"), cl::cat(category)};
  NumberOption<long long> servers{
      "servers",
      cl::desc("number of parameter servers, if the module does not say it"),
      cl::init(0), cl::cat(category)};
  cl::opt<std::string> init{
      "init", cl::desc("initial values of the variables (safetensors)"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> data{
      "data",
      cl::desc("training data: an .npz file, or a folder of .npy files"),
      cl::value_desc("path"), cl::cat(category)};
  NumberOption<unsigned long long> steps{"steps",
                                         cl::desc("number of steps to take"),
                                         cl::init(0), cl::cat(category)};
  NumberOption<unsigned long long> seed{
      "seed",
      cl::desc("seed of the order of the data and of the scalar 'seed'"),
      cl::init(0), cl::cat(category)};
  cl::opt<runtime::Remainder> remainder{
      "remainder", cl::desc("examples of an epoch that do not fill a step:"),
      cl::values(clEnumValN(runtime::Remainder::drop, "drop", "drop them"),
                 clEnumValN(runtime::Remainder::distribute, "distribute",
                            "distribute them as one more step")),
      cl::init(runtime::Remainder::drop), cl::cat(category)};
  NumberOption<unsigned long long> globalBatch{
      "global-batch",
      cl::desc(
          "examples of a step (default: as many as the replicas can take)"),
      cl::init(0), cl::cat(category)};
  cl::list<std::string> scalars{
      "set", cl::desc("value of a host scalar; may be repeated"),
      cl::value_desc("name=value"), cl::cat(category)};
  cl::opt<std::string> metrics{
      "metrics",
      cl::desc("write metrics as JSON lines here, not to the standard output"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> save{
      "save", cl::desc("write the variables here in the end (safetensors)"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> inputs{
      "inputs",
      cl::desc("execute one step on the arrays of this .npz (\"x@0\": x of "
               "replica 0, \"x\": of all) "
               "and print its results"),
      cl::value_desc("file"), cl::cat(category)};
  NumberOption<unsigned long long> scheduleSeed{
      "schedule-seed",
      cl::desc("interleave replicas, one at a time, with delays drawn from "
               "this seed (default: side by side)"),
      cl::init(0), cl::value_desc("seed"), cl::cat(category)};
  cl::opt<bool> unverified{
      "unverified",
      cl::desc("execute what the compiler refuses because replicas could block "
               "each other, or copies of "
               "a variable could become different: it shows where they do"),
      cl::init(false), cl::cat(category)};
  cl::opt<std::string> step{"step", cl::desc("name of the step to execute"),
                            cl::init("step"), cl::value_desc("name"),
                            cl::cat(category)};
};

/// Removes options of libLLVM, for debugging it, whose names this tool uses.
void releaseOptionNames() {
  auto &registered = cl::getRegisteredOptions();
  for (llvm::StringRef name :
       {"replicas", "strategy", "servers", "init", "data", "steps", "seed",
        "set", "metrics", "save", "inputs", "step", "schedule-seed",
        "unverified"})
    if (auto it = registered.find(name); it != registered.end())
      it->second->removeArgument();
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  releaseOptionNames();
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Executes a step by its meaning, without generating code: slow, and the "
      "measure of what "
      "is compiled.\n\nWith --steps=N it trains on --data; without, it "
      "executes one step on --inputs.\n");
  interpret::Options options;
  options.init = line.init;
  options.data = line.data;
  options.metrics = line.metrics;
  options.save = line.save;
  options.inputs = line.inputs;
  options.step = line.step;
  options.steps = line.steps;
  options.seed = line.seed;
  options.remainder = line.remainder;
  options.globalBatch = line.globalBatch;
  options.scalars.assign(line.scalars.begin(), line.scalars.end());
  bool trains = line.steps.getNumOccurrences() > 0;
  if (trains && !options.inputs.empty())
    return fail("expected --steps with --data, or --inputs, found --steps with "
                "--inputs");
  if (!trains && !options.data.empty())
    return fail("expected --steps=N beside --data");

  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.allowUnregisteredDialects();
  // Messages show the location, not the whole operation.
  context.printOpOnDiagnostic(false);
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      mlir::openInputFile(line.input, &message);
  if (!buffer)
    return fail(message);
  llvm::SourceMgr sourceManager;
  sourceManager.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sourceManager, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      parseModule(sourceManager, &context);
  if (!module)
    return 1;

  mlir::PassManager pm(&context);
  CompileOptions import;
  import.stopAfter = Stage::Import;
  buildCompilePipeline(pm, import);
  SetReplicasPassOptions strategy;
  strategy.replicas = line.replicas;
  strategy.strategy = line.strategy;
  strategy.servers = line.servers;
  buildInterpretPipeline(pm, strategy, /*verify=*/!line.unverified);
  if (mlir::failed(pm.run(*module)))
    return 1;
  auto interpreter = interpret::Interpreter::create(*module);
  if (mlir::failed(interpreter))
    return 1;
  interpret::RunOptions run;
  if (line.scheduleSeed.getNumOccurrences() > 0)
    run.scheduleSeed = line.scheduleSeed;
  (*interpreter)->setOptions(run);
  runtime::Status status = trains ? interpret::train(**interpreter, options)
                                  : interpret::runOnce(**interpreter, options);
  return status.ok() ? 0 : fail(status.message());
}

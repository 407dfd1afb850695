//===- lockstep-compile.cpp - Compiles a step to an artifact --------------===//

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/Parsing.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/ModuleTopology.h"
#include "passes/Emit/EmitArtifact.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Remarks/RemarkCollector.h"
#include "passes/Remarks/Remarks.h"
#include "runtime/artifact/Signature.h"
#include "tools/lockstep-compile/ErrorFile.h"
#include "tools/lockstep-compile/Modes.h"
#include "tools/lockstep-compile/ReadableIR.h"
#include "tools/support/NumberParser.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/BuryPointer.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

namespace cl = llvm::cl;
using namespace lockstep;

namespace {

int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "lockstep-compile") << message << "\n";
  return 1;
}

template <typename T>
using NumberOption =
    cl::opt<T, /*ExternalStorage=*/false, tools::NumberParser<T, fail>>;

/// Removes an option that libLLVM's code generator registers when the library
/// is loaded. It is for debugging the code generator and has no use here.
void releaseOptionName(llvm::StringRef name) {
  auto &registered = cl::getRegisteredOptions();
  if (auto it = registered.find(name); it != registered.end())
    it->second->removeArgument();
}

/// How source lines are printed with IR.
enum class Locations { None, Short, Full };

/// What computes products of matrices on GPUs.
enum class Products { Generated, CublasLt };

/// The options of the command line. Constructed in `main`, after names have
/// been released.
struct CommandLine {
  cl::OptionCategory category{"lockstep-compile options"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<step.mlir>"),
                             cl::init("-"), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("file to write"),
                              cl::value_desc("file"), cl::init("-"),
                              cl::cat(category)};
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
  cl::opt<std::string> partitioner{
      "partitioner",
      cl::desc("how variables are split over servers: fixed N, min_size [bytes "
               "B] [shards M] or max_size bytes B [shards M]"),
      cl::value_desc("rule"), cl::cat(category)};
  cl::list<std::string> targets{
      "target",
      cl::desc("target of the kernels, e.g. x86-64-v3; may be repeated"),
      cl::CommaSeparated, cl::cat(category)};
  cl::opt<std::string> level{"O",
                             cl::desc("optimization level"),
                             cl::value_desc("0|2"),
                             cl::Prefix,
                             cl::init("2"),
                             cl::cat(category)};
  cl::opt<bool> simplify{
      "simplify",
      cl::desc("leave out exchanges whose outcome is known without them"),
      cl::init(true), cl::cat(category)};
  cl::opt<bool> reassociate{
      "reassociate",
      cl::desc("add floats in another order where that saves an exchange"),
      cl::init(false), cl::cat(category)};
  cl::opt<ShardUpdate> shardUpdate{
      "shard-update",
      cl::desc("divide variables and their updates among the replicas:"),
      cl::values(clEnumValN(ShardUpdate::Auto, "auto",
                            "if that pays by the cost model of the topology"),
                 clEnumValN(ShardUpdate::On, "on", "wherever possible"),
                 clEnumValN(ShardUpdate::Off, "off", "never")),
      cl::init(ShardUpdate::Auto), cl::cat(category)};
  cl::opt<std::string> split{
      "split",
      cl::desc("split variables into pieces of rows, so that a piece of the "
               "gradient is exchanged while the next one is computed: auto "
               "(default), with --shard-update=auto, if a step then takes less "
               "time by the cost model of the topology; NAME:N,..., into N "
               "pieces, with --shard-update=on; none"),
      cl::value_desc("mode"), cl::init("auto"), cl::cat(category)};
  cl::opt<std::string> topology{
      "topology",
      cl::desc("what the schedule is made for: host (default), ethernet-25g, "
               "ethernet-100g, dgx-h100, torus-3d, or a JSON file"),
      cl::value_desc("preset|file"), cl::cat(category)};
  cl::opt<std::string> bucket{
      "bucket",
      cl::desc("merge collectives into buckets: optimal, by the cost model of "
               "the topology (default); bytes:N, until N bytes are full; none"),
      cl::value_desc("mode"), cl::init("optimal"), cl::cat(category)};
  cl::opt<bool> overlap{"overlap",
                        cl::desc("start collectives early, wait late"),
                        cl::init(true), cl::cat(category)};
  cl::opt<bool> orderKernels{
      "order-kernels",
      cl::desc("execute first the kernels that the link waits for, if the cost "
               "model of the topology chooses the buckets"),
      cl::init(true), cl::cat(category)};
  NumberOption<long long> memoryBound{
      "memory-bound",
      cl::desc("bytes that a process with one replica may need: the fastest "
               "schedule that needs no more"),
      cl::value_desc("bytes"), cl::init(0), cl::cat(category)};
  cl::opt<bool> checkBounds{
      "check-bounds",
      cl::desc("check every access of kernels against its buffer; the run ends "
               "with an error where one "
               "does not fit (slow)"),
      cl::cat(category)};
  cl::opt<bool> tf32{
      "tf32",
      cl::desc("on GPUs, round the factors of products of f32 to tf32, which "
               "has 10 bits of the mantissa instead of 23, for tensor cores"),
      cl::cat(category)};
  cl::opt<Products> products{
      "products", cl::desc("what computes products of matrices on GPUs"),
      cl::values(clEnumValN(Products::Generated, "generated",
                            "generated code (default)"),
                 clEnumValN(Products::CublasLt, "cublaslt",
                            "cuBLASLt, which the run then needs; generated "
                            "code for what it does not support")),
      cl::init(Products::Generated), cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas",
      cl::desc("also assemble the code for GPUs by NVIDIA's ptxas, so that a "
               "run need not: its path, or a name in PATH"),
      cl::value_desc("path"), cl::cat(category)};
  cl::opt<std::string> stopAfter{
      "stop-after",
      cl::desc(
          "print the IR after a stage: import, verify, lower, simplify, roles, "
          "kernels, bucket, schedule, codegen or memory"),
      cl::value_desc("stage"), cl::cat(category)};
  cl::opt<bool> verifyEach{"verify-each",
                           cl::desc("verify the IR after every pass, not only "
                                    "before it is written"),
                           cl::init(false), cl::cat(category)};
  cl::opt<bool> checkOrder{
      "check-order",
      cl::desc(
          "prove the order of collectives after every pass that may move one"),
      cl::init(false), cl::cat(category)};
  cl::opt<bool> findExamples{
      "find-examples",
      cl::desc("search for inputs on which a step that is refused goes wrong, "
               "as lockstep-verify does"),
      cl::init(false), cl::cat(category)};
  cl::opt<bool> allowUnproven{
      "allow-unproven",
      cl::desc("write what nobody has proven to end, for lockstep-verify to "
               "show; it is not run"),
      cl::cat(category)};
  cl::opt<std::string> sign{
      "sign", cl::desc("sign the artifact with an Ed25519 private key (PEM)"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> errors{
      "errors",
      cl::desc("write what is wrong with the program to a file too, as JSON"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> timing{"timing", cl::desc("print the time of every pass"),
                       cl::cat(category)};
  cl::opt<std::string> remarks{
      "remarks",
      cl::desc("print what was decided and why; only of a stage, or only lines "
               "that match a regular expression"),
      cl::value_desc("stage|regex"), cl::ValueOptional, cl::cat(category)};
  cl::opt<Locations> locations{
      "locations",
      cl::desc("source lines in what --stop-after prints:"),
      cl::values(clEnumValN(Locations::None, "none", "none"),
                 clEnumValN(Locations::Short, "short",
                            "as comments behind operations (default)"),
                 clEnumValN(Locations::Full, "full",
                            "as MLIR's locations, which tools read back; "
                            "values have numbers instead of names"),
                 clEnumValN(Locations::Full, "", "as full")),
      cl::ValueOptional,
      cl::init(Locations::Short),
      cl::cat(category)};
};

/// Whether the module has a program, at any stage.
bool hasPrograms(mlir::ModuleOp module) {
  return llvm::any_of(*module.getBody(), [](mlir::Operation &op) {
    if (auto function = llvm::dyn_cast<mlir::func::FuncOp>(op))
      return !function.isExternal();
    return llvm::isa<replica::StepOp, replica::ProgramOp, device::ProgramOp>(
        op);
  });
}

/// The key of --sign; none without the option.
runtime::Expected<std::optional<runtime::SigningKey>>
readSigningKey(const CommandLine &line) {
  if (!line.sign.getNumOccurrences())
    return std::optional<runtime::SigningKey>();
  if (!line.stopAfter.empty())
    return runtime::invalidArgument(
        "expected an artifact to sign, found --stop-after=" + line.stopAfter);
  runtime::Expected<runtime::SigningKey> key =
      runtime::SigningKey::read(line.sign);
  if (!key)
    return key.status();
  return std::optional(std::move(*key));
}

/// Writes the artifact of `module`, followed by the signature of `key` if there
/// is one. Errors have been reported.
llvm::LogicalResult
writeArtifact(mlir::ModuleOp module, llvm::raw_ostream &os, bool allowUnproven,
              const std::optional<runtime::SigningKey> &key) {
  if (!key)
    return emitArtifact(module, os, allowUnproven);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (mlir::failed(emitArtifact(module, stream, allowUnproven)))
    return mlir::failure();
  std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  if (runtime::Status status = runtime::signArtifact(file, *key); !status.ok())
    return fail(status.message()), mlir::failure();
  os.write(reinterpret_cast<const char *>(file.data()), file.size());
  return mlir::success();
}

/// Writes a file beside `name` and renames it when it is complete, so that
/// processes that use the old one are not disturbed. Pipes and devices are
/// written directly.
llvm::Error
writeOutput(llvm::StringRef name,
            llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  auto checked = [&](llvm::raw_ostream &os) -> llvm::Error {
    llvm::Error error = write(os);
    // LLVM's stream for /dev/null has no file.
    if (error || name == "/dev/null")
      return error;
    // A stream that is destroyed with an error, such as a full disk, ends the
    // process.
    auto &file = static_cast<llvm::raw_fd_ostream &>(os);
    file.flush();
    std::error_code code = file.error();
    file.clear_error();
    return llvm::errorCodeToError(code);
  };
  llvm::sys::fs::file_status status;
  bool exists = !llvm::sys::fs::status(name, status);
  if (name == "-" || !exists || llvm::sys::fs::is_regular_file(status))
    return llvm::writeToOutput(name, checked);
  std::error_code code;
  llvm::raw_fd_ostream stream(name, code);
  return code ? llvm::errorCodeToError(code) : checked(stream);
}

/// Runs the passes. If the topology decides whether variables are divided, or
/// memory is bounded, schedules are compared when the module has been lowered.
mlir::LogicalResult compile(mlir::OwningOpRef<mlir::ModuleOp> &module,
                            CompileOptions options, RemarkCollector &remarks,
                            bool verifyEach, bool printTimes) {
  mlir::DefaultTimingManager timing;
  timing.setEnabled(printTimes);
  mlir::TimingScope scope = timing.getRootScope();
  auto run = [&](mlir::ModuleOp module, const CompileOptions &stages) {
    mlir::PassManager pm(module.getContext());
    pm.enableVerifier(verifyEach);
    pm.enableTiming(scope);
    buildCompilePipeline(pm, stages);
    return pm.run(module);
  };
  bool mayDivide = mayDivideVariables(*module, options);
  bool isBounded =
      options.memoryBound > 0 && options.stopAfter >= Stage::Simplify;
  if (!mayDivide && !isBounded)
    return run(*module, options);
  CompileOptions front = options;
  front.stopAfter = Stage::Lower;
  if (mlir::failed(run(*module, front)))
    return mlir::failure();
  ScheduleChoice choice{options, nullptr, {}};
  if (mayDivide) {
    mlir::FailureOr<ScheduleChoice> found =
        chooseShardUpdate(*module, options, run, remarks);
    if (mlir::failed(found))
      return mlir::failure();
    choice = std::move(*found);
  }
  if (isBounded && mlir::failed(boundMemory(*module, run, remarks, choice)))
    return mlir::failure();
  CompileOptions rest = choice.options;
  rest.stopAfter = options.stopAfter;
  rest.startAfter = Stage::Lower;
  if (choice.scheduled && rest.stopAfter >= Stage::Schedule) {
    module = std::move(choice.scheduled);
    remarks.add(std::move(choice.remarks));
    rest.startAfter = Stage::Schedule;
  }
  return run(*module, rest);
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  releaseOptionName("stop-after");
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Compiles a captured step to an artifact, for one number of replicas.\n");

  CompileOptions options;
  options.replicas = line.replicas;
  options.strategy = line.strategy;
  options.servers = line.servers;
  options.partitioner = line.partitioner;
  if (line.level != "0" && line.level != "2")
    return fail("expected -O0 or -O2, found -O" + line.level);
  // In `Options`, zero means "not set".
  if (line.replicas.getNumOccurrences() && line.replicas == 0)
    return fail("expected a replica count that is positive, found 0");
  if (line.servers.getNumOccurrences() && line.servers == 0)
    return fail(
        "expected a number of servers that is positive, found 0 [E_CLUSTER]");
  if (!readBucketMode(line.bucket, options))
    return fail("expected --bucket=optimal, --bucket=none or --bucket=bytes:N "
                "with a number of bytes N that is positive, found '" +
                line.bucket + "' [E_OPTION_VALUE]");
  if (line.memoryBound.getNumOccurrences() && line.memoryBound <= 0)
    return fail("expected --memory-bound with a number of bytes that is "
                "positive, found " +
                llvm::Twine(line.memoryBound));
  options.memoryBound = line.memoryBound;
  options.optimize = line.level != "0";
  options.simplify = line.simplify;
  options.reassociate = line.reassociate;
  options.checkBounds = line.checkBounds;
  options.tf32 = line.tf32;
  options.libraryProducts = line.products == Products::CublasLt;
  options.ptxas = line.ptxas;
  options.topology = line.topology;
  options.overlap = line.overlap;
  options.orderKernels = line.orderKernels;
  options.shardUpdate = line.shardUpdate;
  if (!readSplitMode(line.split, options))
    return fail("expected --split=auto, --split=none or --split=NAME:N,... "
                "with names of variables and numbers of pieces above 1, found "
                "'" +
                line.split + "' [E_OPTION_VALUE]");
  if (!options.pieces.empty() &&
      (options.shardUpdate != ShardUpdate::On || !options.optimize))
    return fail("expected -O2 and --shard-update=on with --split=" +
                line.split);
  options.checkOrder = line.checkOrder;
  options.findExamples = line.findExamples;
  if (!line.targets.empty())
    options.targets.assign(line.targets.begin(), line.targets.end());
  if (line.ptxas.getNumOccurrences() &&
      llvm::none_of(options.targets, [](llvm::StringRef target) {
        return target.starts_with("sm_");
      }))
    return fail("expected a GPU in --target with --ptxas, found '" +
                llvm::join(options.targets, ",") + "'");
  if (!line.stopAfter.empty()) {
    std::optional<Stage> stage = symbolizeStage(line.stopAfter);
    if (!stage)
      return fail(
          "--stop-after: expected import, verify, lower, simplify, "
          "roles, kernels, bucket, schedule, codegen or memory, found '" +
          line.stopAfter + "'");
    options.stopAfter = *stage;
  }
  // Linking kernels resets every command-line option of the process: copy the
  // values that are needed afterwards.
  const std::string outputName = line.output, stopStage = line.stopAfter;
  const Locations locations = line.locations;
  const bool printRemarks = line.remarks.getNumOccurrences() > 0;
  const std::string remarkFilter = line.remarks;
  const bool allowUnproven = line.allowUnproven;
  const std::string errorsName = line.errors;

  if (stopStage.empty() && outputName == "-" && llvm::outs().is_displayed())
    return fail("expected -o FILE: an artifact is binary, and the standard "
                "output is a terminal");
  // Report a missing key before the compilation.
  auto key = readSigningKey(line);
  if (!key)
    return fail("--sign: " + key.status().message());

  // Outlives the context, which reports to it.
  RemarkCollector remarks;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.allowUnregisteredDialects();
  // An error refers to a line of the user's program; do not print the whole
  // module.
  context.printOpOnDiagnostic(false);
  if (mlir::failed(remarks.install(context)))
    return 1;

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      mlir::openInputFile(line.input, &message);
  if (!buffer)
    return fail(message);
  llvm::SourceMgr sourceManager;
  sourceManager.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sourceManager, &context);
  // Errors of the whole module or the options have no location.
  mlir::ScopedDiagnosticHandler withoutPlace(
      &context, [](mlir::Diagnostic &diagnostic) {
        bool isPlain =
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
            diagnostic.getNotes().empty();
        if (!isPlain || !llvm::isa<mlir::UnknownLoc>(diagnostic.getLocation()))
          return mlir::failure();
        fail(diagnostic.str());
        return mlir::success();
      });
  ErrorFile errors(context);
  if (!errorsName.empty() && mlir::failed(errors.open(errorsName, message)))
    return fail("--errors: " + message);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      parseModule(sourceManager, &context);
  if (!module)
    return 1;

  if (mlir::failed(
          compile(module, options, remarks, line.verifyEach, line.timing)) ||
      (!line.verifyEach && mlir::failed(mlir::verify(*module))))
    return 1;
  if (!hasPrograms(*module)) {
    mlir::emitError(mlir::UnknownLoc::get(&context),
                    "expected a step or a program to compile ('replica.step', "
                    "'replica.program' or a public 'func.func'), found none");
    return 1;
  }
  if (printRemarks &&
      mlir::failed(remarks.print(*module, remarkFilter, llvm::errs(), message)))
    return fail("--remarks: " + message);
  // A compiled step keeps its explanation.
  if (options.stopAfter == Stage::Memory)
    remarks.record(*module);

  bool isReported = false;
  llvm::Error error =
      writeOutput(outputName, [&](llvm::raw_ostream &os) -> llvm::Error {
        if (stopStage.empty()) {
          isReported =
              mlir::failed(writeArtifact(*module, os, allowUnproven, *key));
          return isReported ? llvm::createStringError("no artifact")
                            : llvm::Error::success();
        }
        if (locations != Locations::Full) {
          printReadable(*module, os, locations == Locations::Short);
          return llvm::Error::success();
        }
        mlir::OpPrintingFlags flags;
        flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
        flags.elideLargeElementsAttrs(64);
        module->print(os, flags);
        return llvm::Error::success();
      });
  if (!error) {
    // The process ends: leave the memory of a large module to the system.
    llvm::BuryPointer(module.release().getOperation());
    return 0;
  }
  if (isReported) {
    llvm::consumeError(std::move(error));
    return 1;
  }
  return fail("cannot write '" + outputName +
              "': " + llvm::errorToErrorCode(std::move(error)).message());
}

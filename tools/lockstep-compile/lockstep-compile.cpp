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
#include "tools/lockstep-compile/CommandLine.h"
#include "tools/lockstep-compile/ErrorFile.h"
#include "tools/lockstep-compile/Modes.h"
#include "tools/lockstep-compile/ReadableIR.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/BuryPointer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

using namespace lockstep;

namespace {

/// Removes an option that libLLVM's code generator registers when the library
/// is loaded. It is for debugging the code generator and has no use here.
void releaseOptionName(llvm::StringRef name) {
  auto &registered = cl::getRegisteredOptions();
  if (auto it = registered.find(name); it != registered.end())
    it->second->removeArgument();
}

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
  if (line.activations == Activations::Libraries &&
      line.products != Products::CublasLt &&
      line.convolutions != Convolutions::Cudnn)
    return fail("expected --products=cublaslt or --convolutions=cudnn with "
                "--activations=libraries");
  options.memoryBound = line.memoryBound;
  options.optimize = line.level != "0";
  options.simplify = line.simplify;
  options.reassociate = line.reassociate;
  options.checkBounds = line.checkBounds;
  options.tf32 = line.tf32;
  options.libraryProducts = line.products == Products::CublasLt;
  options.libraryActivations = line.activations == Activations::Libraries;
  options.libraryConvolutions = line.convolutions == Convolutions::Cudnn;
  options.libraryAttention = line.attention == Attention::Cudnn;
  if (line.attentionBytes.getNumOccurrences())
    options.attentionBytes = line.attentionBytes;
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
  if (line.ptxas.getNumOccurrences() && line.ptxas.empty())
    return fail("expected --ptxas with the path of NVIDIA's ptxas, found ''");
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

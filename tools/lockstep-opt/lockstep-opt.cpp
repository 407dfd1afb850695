//===- lockstep-opt.cpp - Runs single passes and stages -------------------===//

#include "dialect/Interfaces/Parsing.h"
#include "passes/Pipelines/Pipelines.h"
#include "tools/lockstep-opt/CheckValues.h"

#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

namespace cl = llvm::cl;
using namespace lockstep;

namespace {

constexpr const char *kToolName = "lockstep-opt";

/// The configuration of the command line, with every pass checked.
struct CheckedConfig : mlir::MlirOptMainConfig {
  CheckedConfig(mlir::MlirOptMainConfig base,
                opt::CheckValues::Summary &summary)
      : MlirOptMainConfig(std::move(base)) {
    passPipelineCallback =
        [&summary, addPasses = passPipelineCallback](mlir::PassManager &pm) {
          pm.getContext()->disableMultithreading();
          pm.addInstrumentation(std::make_unique<opt::CheckValues>(summary));
          return addPasses(pm);
        };
  }
};

int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), kToolName) << message << "\n";
  return 1;
}

int run(llvm::StringRef input, llvm::StringRef output,
        mlir::DialectRegistry &registry, bool checkValues) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      mlir::openInputFile(input, &message);
  if (!buffer)
    return fail(message);
  if (mlir::failed(checkNesting(*buffer)))
    return 1;
  std::unique_ptr<llvm::ToolOutputFile> file =
      mlir::openOutputFile(output, &message);
  if (!file)
    return fail(message);
  mlir::MlirOptMainConfig plain =
      mlir::MlirOptMainConfig::createFromCLOptions();
  if (!checkValues) {
    if (mlir::failed(
            mlir::MlirOptMain(file->os(), std::move(buffer), registry, plain)))
      return 1;
    file->keep();
    return 0;
  }
  opt::CheckValues::Summary summary;
  CheckedConfig config(std::move(plain), summary);
  mlir::LogicalResult result =
      mlir::MlirOptMain(file->os(), std::move(buffer), registry, config);
  llvm::errs() << kToolName << ": values compared after " << summary.compared
               << " of " << summary.compared + summary.skipped << " passes\n";
  if (mlir::failed(result) || summary.foundDifference)
    return 1;
  file->keep();
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  static cl::opt<bool> checkValues(
      "check-values",
      cl::desc("execute the module before and after each pass on random data, "
               "and compare: an error says which "
               "pass changes what is computed"));
  mlir::registerAllPasses();
  registerPassesAndPipelines();
  mlir::DialectRegistry registry;
  registerDialects(registry);
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "Lockstep's optimizer driver\n", registry);
  return run(input, output, registry, checkValues);
}

//===- lockstep-translate.cpp - Artifact to device IR and back ------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/Parsing.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Emit/EmitArtifact.h"
#include "passes/Emit/ImportArtifact.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

static void registerDialects(DialectRegistry &registry) {
  registry.insert<lockstep::replica::ReplicaDialect,
                  lockstep::collective::CollectiveDialect,
                  lockstep::device::DeviceDialect>();
}

/// Source locations are part of an artifact: without them the text would be
/// incomplete.
static void printLocationsByDefault() {
  registerAsmPrinterCLOptions();
  llvm::cl::Option *option =
      llvm::cl::getRegisteredOptions().lookup("mlir-print-debuginfo");
  assert(option && "expected the printer's option for locations");
  static_cast<llvm::cl::opt<bool> *>(option)->setInitialValue(true);
}

int main(int argc, char **argv) {
  printLocationsByDefault();
  llvm::cl::opt<bool> allowUnproven(
      "allow-unproven",
      llvm::cl::desc(
          "write what nobody has proven to end, for lockstep-verify to show"));
  TranslateToMLIRRegistration import(
      "import-artifact", "read an artifact back to device IR",
      [](llvm::SourceMgr &sourceManager,
         MLIRContext *context) -> OwningOpRef<Operation *> {
        const llvm::MemoryBuffer &buffer =
            *sourceManager.getMemoryBuffer(sourceManager.getMainFileID());
        Location location =
            FileLineColLoc::get(context, buffer.getBufferIdentifier(), 0, 0);
        return lockstep::importArtifact(buffer.getBuffer(), location);
      },
      registerDialects);
  TranslateRegistration emit(
      "emit-artifact", "write device IR as an artifact",
      [&](const std::shared_ptr<llvm::SourceMgr> &sources,
          llvm::raw_ostream &os, MLIRContext *context) {
        DialectRegistry registry;
        registerDialects(registry);
        context->appendDialectRegistry(registry);
        OwningOpRef<ModuleOp> module = lockstep::parseModule(*sources, context);
        return success(module && succeeded(lockstep::emitArtifact(
                                     *module, os, allowUnproven)));
      });
  return failed(mlirTranslateMain(
      argc, argv, "Lockstep's artifacts, to device IR and back\n"));
}

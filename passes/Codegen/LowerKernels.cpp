//===- LowerKernels.cpp - Lower kernels to the LLVM dialect ---------------===//

#include "dialect/Device/DeviceDialect.h"
#include "passes/Codegen/Codegen.h"
#include "passes/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace lockstep {
#define GEN_PASS_DEF_LOWERKERNELSPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

/// Adds upstream's conversions of loops and vectors to the LLVM dialect.
static void addConversionsToLLVM(OpPassManager &pm) {
  pm.addPass(memref::createFoldMemRefAliasOpsPass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addNestedPass<LLVM::LLVMFuncOp>(createBFloatsAsBitsPass());
}

void lockstep::buildLowerKernelsPipeline(OpPassManager &pm,
                                         const KernelOptions &options) {
  PrepareKernelsPassOptions prepare;
  prepare.optimize = options.optimize;
  pm.addPass(createPrepareKernelsPass(prepare));
  pm.addPass(createBufferizeKernelsPass());
  llvm::Expected<const CodegenTarget *> target = lookupTarget(options.target);
  if (target && (*target)->isGpu()) {
    LowerKernelPhasesPassOptions phases;
    phases.tf32 = options.products.tf32;
    phases.libraryProducts = options.products.libraryProducts;
    phases.libraryConvolutions = options.products.libraryConvolutions;
    phases.libraryActivations = options.products.libraryActivations;
    pm.addPass(createLowerKernelPhasesPass(phases));
    OpPassManager &function = pm.nest<func::FuncOp>();
    ExpandMathPassOptions math;
    math.gpu = true;
    function.addPass(createExpandMathPass(math));
    function.addPass(createHoistInvariantsPass());
    function.addPass(createCSEPass());
    pm.addPass(createCheckBoundsPass({options.checkBounds, /*gpu=*/true}));
    pm.addPass(createConvertKernelAbiPass());
    return addConversionsToLLVM(pm);
  }
  // An unknown target is reported by the next pass.
  llvm::consumeError(target.takeError());
  LowerKernelLoopsPassOptions loops;
  loops.target = options.target;
  loops.optimize = options.optimize;
  OpPassManager &function = pm.nest<func::FuncOp>();
  function.addPass(createLowerKernelLoopsPass(loops));
  function.addPass(createExpandMathPass());
  function.addPass(createPlaceBuffersPass());
  function.addPass(createHoistInvariantsPass());
  function.addPass(createCSEPass());
  CheckBoundsPassOptions checks;
  checks.accesses = options.checkBounds;
  pm.addPass(createCheckBoundsPass(checks));
  pm.addPass(createConvertKernelAbiPass());
  addConversionsToLLVM(pm);
}

void lockstep::addLoweringDialects(DialectRegistry &registry) {
  for (StringRef target : {"x86-64-v3", "sm_80"}) {
    OpPassManager pm(ModuleOp::getOperationName());
    KernelOptions options;
    options.target = target;
    buildLowerKernelsPipeline(pm, options);
    pm.getDependentDialects(registry);
  }
}

namespace {
struct LowerKernels : lockstep::impl::LowerKernelsPassBase<LowerKernels> {
  using LowerKernelsPassBase::LowerKernelsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    LowerKernelsPassBase::getDependentDialects(registry);
    addLoweringDialects(registry);
  }

  void runOnOperation() override {
    OpPassManager pm(ModuleOp::getOperationName());
    buildLowerKernelsPipeline(
        pm, {target,
             level != "O0",
             checkBounds,
             {tf32, libraryProducts, libraryConvolutions, libraryActivations}});
    if (failed(runPipeline(pm, getOperation())))
      signalPassFailure();
  }
};
} // namespace

//===- LowerKernels.cpp - Kernels to the LLVM dialect ---------------------===//

#include "dialect/Device/DeviceDialect.h"
#include "passes/Codegen/Codegen.h"
#include "passes/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
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

/// Loops and vectors to the LLVM dialect; nothing of Lockstep's own.
static void addConversionsToLLVM(OpPassManager &pm) {
  pm.addPass(memref::createFoldMemRefAliasOpsPass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(arith::createArithExpandOpsPass());
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

void lockstep::buildLowerKernelsPipeline(OpPassManager &pm, StringRef target, bool optimize) {
  PrepareKernelsPassOptions prepare;
  prepare.optimize = optimize;
  pm.addPass(createPrepareKernelsPass(prepare));
  pm.addPass(createBufferizeKernelsPass());
  LowerKernelLoopsPassOptions loops;
  loops.target = target.str();
  loops.optimize = optimize;
  OpPassManager &function = pm.nest<func::FuncOp>();
  function.addPass(createLowerKernelLoopsPass(loops));
  function.addPass(createExpandMathPass());
  function.addPass(createPlaceBuffersPass());
  function.addPass(createLoopInvariantCodeMotionPass());
  function.addPass(createCSEPass());
  pm.addPass(createConvertKernelAbiPass());
  addConversionsToLLVM(pm);
}

namespace {
struct LowerKernels : lockstep::impl::LowerKernelsPassBase<LowerKernels> {
  using LowerKernelsPassBase::LowerKernelsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    LowerKernelsPassBase::getDependentDialects(registry);
    OpPassManager pm(ModuleOp::getOperationName());
    buildLowerKernelsPipeline(pm, "x86-64-v3", true);
    pm.getDependentDialects(registry);
  }

  void runOnOperation() override {
    OpPassManager pm(ModuleOp::getOperationName());
    buildLowerKernelsPipeline(pm, target, level != "O0");
    if (failed(runPipeline(pm, getOperation())))
      signalPassFailure();
  }
};
} // namespace

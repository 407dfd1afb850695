//===- GenerateCode.cpp - Native code of all kernels ----------------------===//

#include "dialect/Device/DeviceDialect.h"
#include "passes/Codegen/Codegen.h"
#include "passes/Codegen/CostEstimate.h"
#include "passes/Codegen/InPlace.h"
#include "passes/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace lockstep {
#define GEN_PASS_DEF_GENERATECODEPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

namespace {
struct GenerateCode : lockstep::impl::GenerateCodePassBase<GenerateCode> {
  using GenerateCodePassBase::GenerateCodePassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    GenerateCodePassBase::getDependentDialects(registry);
    OpPassManager pm(ModuleOp::getOperationName());
    buildLowerKernelsPipeline(pm, "x86-64-v3", true);
    pm.getDependentDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (level != "O0" && level != "O2") {
      module.emitError("expected level 'O0' or 'O2', found '") << level << "'";
      return signalPassFailure();
    }
    llvm::Expected<SmallVector<const CodegenTarget *>> targets = parseTargets(this->targets);
    if (!targets) {
      module.emitError() << llvm::toString(targets.takeError());
      return signalPassFailure();
    }
    if (module.getOps<device::KernelOp>().empty())
      return;
    for (auto kernel : module.getOps<device::KernelOp>())
      estimateCost(kernel);
    for (auto [i, target] : llvm::enumerate(*targets))
      if (failed(generate(*target, /*isFirst=*/i == 0)))
        return signalPassFailure();
  }

  LogicalResult generate(const CodegenTarget &target, bool isFirst) {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    OwningOpRef<ModuleOp> lowered = ModuleOp::create(builder, module.getLoc());
    lowered->getOperation()->remove();
    OpBuilder inner = OpBuilder::atBlockEnd(lowered->getBody());
    for (auto kernel : module.getOps<device::KernelOp>())
      inner.clone(*kernel);
    OpPassManager pm(ModuleOp::getOperationName());
    bool optimize = level != "O0";
    buildLowerKernelsPipeline(pm, target.name, optimize);
    // A pipeline runs below the pass's own operation only.
    module.push_back(lowered->getOperation());
    ModuleOp nested = lowered.release();
    LogicalResult result = runPipeline(pm, nested);
    nested->remove();
    lowered = nested;
    if (failed(result))
      return failure();
    readAttributes(*lowered, isFirst);
    FailureOr<SmallVector<char, 0>> object = compileToObject(*lowered, target, optimize);
    if (failed(object))
      return failure();
    std::string error;
    FailureOr<std::string> library = linkObjects(*object, error);
    if (failed(library))
      return module.emitError("linking kernels for '") << target.name << "': " << error;
    auto type = RankedTensorType::get(library->size(), builder.getI8Type());
    auto bytes = DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(library->data(), library->size()));
    device::BinaryOp::create(builder, module.getLoc(), target.symbol, target.name, bytes);
    return success();
  }

  /// What code generation decided: the same for all targets, except that the largest scratch counts.
  void readAttributes(ModuleOp lowered, bool isFirst) {
    Builder builder(&getContext());
    SymbolTable functions(lowered);
    for (auto kernel : getOperation().getOps<device::KernelOp>()) {
      Operation *function = functions.lookup(kernel.getSymName());
      int64_t scratch = function->getAttrOfType<IntegerAttr>(kScratchAttr).getInt();
      kernel.setGrid(function->getAttrOfType<IntegerAttr>(kGridAttr).getInt());
      kernel.setScratch(isFirst ? scratch : std::max<int64_t>(kernel.getScratch(), scratch));
      if (kernel.getInPlace())
        kernel.setInPlaceAttr(function->getAttrOfType<DenseI64ArrayAttr>(kInPlaceAttr));
    }
  }
};
} // namespace

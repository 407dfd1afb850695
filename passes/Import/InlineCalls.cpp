//===- InlineCalls.cpp - Inline calls of a captured program ---------------===//

#include "passes/Import/StableHLO.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Inliner.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// Allows upstream's inliner to inline all operations, instead of querying
/// their dialects: a captured function is a part of the step that JAX outlined.
struct InlineAnything : InlinerInterface {
  using InlinerInterface::InlinerInterface;
  bool isLegalToInline(Operation *, Operation *, bool) const override {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const override {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool,
                       IRMapping &) const override {
    return true;
  }
  bool shouldAnalyzeRecursively(Operation *) const override { return false; }
  bool allowSingleBlockOptimization(
      iterator_range<Region::iterator> blocks) const override {
    return llvm::hasSingleElement(blocks);
  }
};

/// Inlines the calls in functions, callees first.
class CallInliner {
public:
  explicit CallInliner(ModuleOp module)
      : module(module), interface(module.getContext()) {}

  LogicalResult inlineIn(FunctionOpInterface function) {
    if (!done.insert(function).second)
      return success();
    active.insert(function);
    SmallVector<func::CallOp> calls;
    function.walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCalleeAttr());
      if (!callee || callee.isExternal())
        return call.emitOpError("expected a function with a body, found ")
               << call.getCalleeAttr();
      if (active.contains(callee))
        return call.emitOpError("cannot import the recursive call of ")
               << call.getCalleeAttr();
      if (failed(inlineIn(callee)) ||
          failed(inlineCall(interface, config.getCloneCallback(), call, callee,
                            &callee.getBody())))
        return failure();
      call.erase();
    }
    active.erase(function);
    return success();
  }

private:
  ModuleOp module;
  InlineAnything interface;
  InlinerConfig config;
  DenseSet<Operation *> done, active;
};

} // namespace

LogicalResult stablehlo::inlineCalls(ModuleOp module) {
  CallInliner inliner(module);
  for (auto function : module.getOps<FunctionOpInterface>())
    if (failed(inliner.inlineIn(function)))
      return failure();
  return success();
}

void stablehlo::eraseDeadFunctions(ModuleOp module) {
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.isPrivate() &&
        SymbolTable::symbolKnownUseEmpty(function, module))
      function.erase();
}

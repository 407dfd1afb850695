//===- ImportStableHLO.cpp - Import the rest of StableHLO -----------------===//

#include "passes/Import/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"

namespace lockstep {
#define GEN_PASS_DEF_IMPORTSTABLEHLOPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

using ImportFunction = LogicalResult (*)(Operation *);

/// The function that imports an operation; null if it is not supported.
static ImportFunction getImport(StringRef name) {
  return llvm::StringSwitch<ImportFunction>(name)
      .Case("stablehlo.while", stablehlo::importWhile)
      .Case("stablehlo.if", stablehlo::importIf)
      .Case("stablehlo.case", stablehlo::importCase)
      .Case("stablehlo.optimization_barrier",
            stablehlo::importOptimizationBarrier)
      .Case("stablehlo.scatter", stablehlo::importScatter)
      .Case("stablehlo.select_and_scatter", stablehlo::importSelectAndScatter)
      .Case("stablehlo.sort", stablehlo::importSort)
      .Case("stablehlo.custom_call", stablehlo::importCustomCall)
      .Default(nullptr);
}

/// Locations and names of operations that cannot be imported. An expression may
/// have several of a name.
using Refused = llvm::SetVector<std::pair<Location, OperationName>>;

static LogicalResult importOperation(Operation *op, Refused &refused) {
  if (ImportFunction function = getImport(op->getName().getStringRef()))
    return function(op);
  if (!refused.insert({op->getLoc(), op->getName()}))
    return failure();
  InFlightDiagnostic diag = stablehlo::emitCannotImport(op);
  diag.attachNote() << "jaxlib's legalization to linalg leaves this operation, "
                       "and there is no rule for it here; "
                       "express it by other JAX operations, or compute it "
                       "outside of the step";
  return diag;
}

/// Unregistered operations, in post-order: those in regions before those around
/// them.
static SmallVector<Operation *> getUnknown(ModuleOp module) {
  SmallVector<Operation *> unknown;
  module.walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (!op->isRegistered() &&
        op->getName().getStringRef() != "stablehlo.return")
      unknown.push_back(op);
  });
  return unknown;
}

/// Imports all unregistered operations. Continues after an error, so that all
/// are reported.
static LogicalResult importOperations(ModuleOp module) {
  SmallVector<Operation *> mergeCalls;
  Refused refused;
  bool ok = true;
  for (Operation *op : getUnknown(module)) {
    if (stablehlo::isMergeCall(op))
      mergeCalls.push_back(op);
    else if (!stablehlo::isCrossReplica(op))
      ok &= succeeded(importOperation(op, refused));
  }
  if (!ok)
    return failure();
  // The operations in functions of merge calls have been imported now.
  for (Operation *op : mergeCalls)
    ok &= succeeded(stablehlo::importMergeCall(op));
  if (!ok)
    return failure();
  stablehlo::eraseDeadFunctions(module);
  for (Operation *op : getUnknown(module))
    ok &= succeeded(emitError(op->getLoc())
                    << op->getAttr("call_target_name")
                    << " expected to be in the function of a merge_call, "
                       "outside of its loops "
                       "and branches [E_CONTEXT]");
  return success(ok);
}

/// Whether `name` is an attribute of JAX or XLA.
static bool isForeign(StringAttr name) {
  StringRef prefix = name.getValue().split('.').first;
  return name.getValue().contains('.') &&
         llvm::is_contained({"jax", "mhlo", "sdy", "stablehlo", "tf", "xla"},
                            prefix);
}

static DictionaryAttr dropForeign(DictionaryAttr attributes) {
  NamedAttrList kept;
  for (NamedAttribute attribute : attributes)
    if (!isForeign(attribute.getName()))
      kept.append(attribute);
  return kept.getDictionary(attributes.getContext());
}

/// Drops the attributes of JAX and XLA from operations, arguments and results.
static void stripForeignAttributes(ModuleOp module) {
  module.walk([](Operation *op) {
    for (NamedAttribute attribute : llvm::to_vector(op->getDiscardableAttrs()))
      if (isForeign(attribute.getName()))
        op->removeDiscardableAttr(attribute.getName());
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function)
      return;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (DictionaryAttr attributes = function.getArgAttrDict(i))
        function.setArgAttrs(i, dropForeign(attributes));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (DictionaryAttr attributes = function.getResultAttrDict(i))
        function.setResultAttrs(i, dropForeign(attributes));
  });
}

namespace {

struct ImportStableHLOPass
    : lockstep::impl::ImportStableHLOPassBase<ImportStableHLOPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(stablehlo::makeSignless(module)) ||
        failed(stablehlo::inlineCalls(module)) ||
        failed(importOperations(module)))
      return signalPassFailure();
    stripForeignAttributes(module);
  }
};

} // namespace

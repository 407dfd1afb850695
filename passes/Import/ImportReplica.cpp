//===- ImportReplica.cpp - custom_call @replica.* to the replica dialect --===//

#include "passes/Import/StableHLO.h"

using namespace lockstep;
using namespace mlir;

/// The dictionary in which a custom call keeps its parameters; empty if there is none.
static DictionaryAttr getConfig(Operation *op) {
  auto config = op->getAttrOfType<DictionaryAttr>("backend_config");
  return config ? config : DictionaryAttr::get(op->getContext());
}

FailureOr<replica::Reduction> stablehlo::getReduction(Operation *op) {
  auto name = getConfig(op).getAs<StringAttr>("reduction");
  std::optional<replica::Reduction> reduction =
      name ? replica::symbolizeReduction(name.getValue().lower()) : std::nullopt;
  if (!reduction) {
    InFlightDiagnostic diag = emitError(op->getLoc()) << op->getAttr("call_target_name")
                                                      << " expected 'reduction' to be \"SUM\" or \"MEAN\", found ";
    return name ? diag << name : diag << "none";
  }
  return *reduction;
}

static FailureOr<Operation *> createAllReduce(OpBuilder &builder, Operation *op) {
  FailureOr<replica::Reduction> reduction = stablehlo::getReduction(op);
  if (failed(reduction))
    return failure();
  auto bytesPerPack = getConfig(op).getAs<IntegerAttr>("bytes_per_pack");
  return replica::AllReduceOp::create(builder, op->getLoc(), *reduction, op->getOperands(),
                                      bytesPerPack ? bytesPerPack.getInt() : 0)
      .getOperation();
}

static FailureOr<Operation *> createAllGather(OpBuilder &builder, Operation *op) {
  auto axis = getConfig(op).getAs<IntegerAttr>("axis");
  if (!axis)
    return emitError(op->getLoc()) << "'replica.all_gather' expected an integer 'axis', found none";
  return replica::AllGatherOp::create(builder, op->getLoc(), op->getResultTypes(), op->getOperands(), axis.getInt())
      .getOperation();
}

LogicalResult stablehlo::importCustomCall(Operation *op) {
  auto targetAttr = op->getAttrOfType<StringAttr>("call_target_name");
  StringRef target = targetAttr ? targetAttr.getValue() : "";
  OpBuilder builder(op);
  FailureOr<Operation *> replacement = failure();
  if (target == "replica.all_reduce")
    replacement = createAllReduce(builder, op);
  else if (target == "replica.all_gather")
    replacement = createAllGather(builder, op);
  else if (target == "replica.id")
    replacement = replica::IdOp::create(builder, op->getLoc(), op->getResultTypes()).getOperation();
  else if (target == "replica.num_in_sync")
    replacement = replica::NumInSyncOp::create(builder, op->getLoc(), op->getResultTypes()).getOperation();
  else {
    InFlightDiagnostic diag = emitError(op->getLoc()) << "cannot import the custom call '" << target << "'";
    diag.attachNote() << "it calls a function of XLA's own runtime; express it by other JAX operations";
    return diag;
  }
  if (failed(replacement))
    return failure();
  if ((*replacement)->getResultTypes() != op->getResultTypes()) {
    InFlightDiagnostic diag = emitError(op->getLoc())
                              << "'" << target << "' expected results of types (" << (*replacement)->getResultTypes()
                              << "), found (" << op->getResultTypes() << ")";
    (*replacement)->erase();
    return diag;
  }
  op->replaceAllUsesWith(*replacement);
  op->erase();
  return success();
}

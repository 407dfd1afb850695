//===- ImportReplica.cpp - Import custom_call @replica.* ------------------===//

#include "dialect/Device/DeviceDialect.h"
#include "passes/Import/StableHLO.h"
#include "passes/Lower/LowerSlices.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

/// The dictionary of the parameters of a custom call; empty if there is none.
static DictionaryAttr getConfig(Operation *op) {
  auto config = op->getAttrOfType<DictionaryAttr>("backend_config");
  return config ? config : DictionaryAttr::get(op->getContext());
}

FailureOr<replica::Reduction>
stablehlo::getReduction(Operation *op, ArrayRef<replica::Reduction> allowed) {
  auto name = getConfig(op).getAs<StringAttr>("reduction");
  std::optional<replica::Reduction> reduction =
      name ? replica::symbolizeReduction(name.getValue().lower())
           : std::nullopt;
  if (!reduction || !llvm::is_contained(allowed, *reduction)) {
    InFlightDiagnostic diag = emitError(op->getLoc())
                              << op->getAttr("call_target_name")
                              << " expected 'reduction' to be one of ";
    llvm::interleaveComma(allowed, diag, [&](replica::Reduction one) {
      diag << "\"" << replica::stringifyReduction(one).upper() << "\"";
    });
    diag << ", found ";
    return name ? diag << name : diag << "none";
  }
  return *reduction;
}

static FailureOr<Operation *> createAllReduce(OpBuilder &builder,
                                              Operation *op) {
  FailureOr<replica::Reduction> reduction =
      stablehlo::getReduction(op, replica::kReductions);
  if (failed(reduction))
    return failure();
  auto bytesPerPack = getConfig(op).getAs<IntegerAttr>("bytes_per_pack");
  return replica::AllReduceOp::create(builder, op->getLoc(), *reduction,
                                      op->getOperands(),
                                      bytesPerPack ? bytesPerPack.getInt() : 0)
      .getOperation();
}

static FailureOr<Operation *> createAllGather(OpBuilder &builder,
                                              Operation *op) {
  auto axis = getConfig(op).getAs<IntegerAttr>("axis");
  if (!axis)
    return emitError(op->getLoc())
           << "'replica.all_gather' expected an integer 'axis', found none";
  return replica::AllGatherOp::create(builder, op->getLoc(),
                                      op->getResultTypes(), op->getOperands(),
                                      axis.getInt())
      .getOperation();
}

/// A `replica.lookup` if the table is the unchanged value of a variable, else
/// code that takes the rows of the tensor.
static FailureOr<Operation *> createLookup(OpBuilder &builder, Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1)
    return emitError(op->getLoc())
           << "'replica.lookup' expected a table and ids, found "
           << op->getNumOperands() << " operands";
  Value table = op->getOperand(0), ids = op->getOperand(1);
  if (auto read = table.getDefiningOp<replica::ReadOp>())
    return replica::LookupOp::create(builder, op->getLoc(),
                                     op->getResult(0).getType(),
                                     read.getVariableAttr(), ids)
        .getOperation();
  auto tableType = dyn_cast<RankedTensorType>(table.getType()),
       idsType = dyn_cast<RankedTensorType>(ids.getType());
  if (!tableType || tableType.getRank() == 0)
    return emitError(op->getLoc())
           << "'replica.lookup' expected a table with rows, found "
           << table.getType();
  if (!idsType || idsType.getRank() != 1 ||
      !(idsType.getElementType().isInteger(32) ||
        idsType.getElementType().isInteger(64)))
    return emitError(op->getLoc()) << "'replica.lookup' expected ids of one "
                                      "dimension, of i32 or i64, found "
                                   << ids.getType();
  return lookUpRows(builder, op->getLoc(), table, ids).getDefiningOp();
}

static FailureOr<Operation *> createSlicesToDense(OpBuilder &builder,
                                                  Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1)
    return emitError(op->getLoc())
           << "'replica.slices_to_dense' expected values and indices, found "
           << op->getNumOperands() << " operands";
  return replica::SlicesToDenseOp::create(builder, op->getLoc(),
                                          op->getResult(0).getType(),
                                          op->getOperand(0), op->getOperand(1))
      .getOperation();
}

/// A `device.attention`, or its gradient.
template <typename OpTy>
static FailureOr<Operation *> createAttention(OpBuilder &builder,
                                              Operation *op) {
  DictionaryAttr config = getConfig(op);
  auto scale = config.getAs<FloatAttr>("scale");
  auto causal = config.getAs<BoolAttr>("causal");
  if (!scale || !scale.getType().isF64() || !causal)
    return emitError(op->getLoc())
           << op->getAttr("call_target_name")
           << " expected 'scale', an f64, and 'causal', a bool, found "
           << config;
  constexpr bool isGradient = std::is_same_v<OpTy, device::AttentionGradientOp>;
  constexpr unsigned inputs = isGradient ? 6 : 3, results = isGradient ? 3 : 2;
  if (op->getNumOperands() != inputs || op->getNumResults() != results)
    return emitError(op->getLoc())
           << op->getAttr("call_target_name") << " expected " << inputs
           << " operands and " << results << " results, found "
           << op->getNumOperands() << " and " << op->getNumResults();
  if (failed(stablehlo::verifyStaticShapes(op)))
    return failure();
  SmallVector<Value> operands(op->getOperands());
  for (Type type : op->getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    operands.push_back(tensor::EmptyOp::create(
        builder, op->getLoc(), tensor.getShape(), tensor.getElementType()));
  }
  OperationState state(op->getLoc(), OpTy::getOperationName());
  state.addOperands(operands);
  state.addTypes(op->getResultTypes());
  auto &properties = state.getOrAddProperties<typename OpTy::Properties>();
  properties.scale = scale;
  if (causal.getValue())
    properties.causal = builder.getUnitAttr();
  return builder.create(state);
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
  else if (target == "replica.lookup")
    replacement = createLookup(builder, op);
  else if (target == "replica.slices_to_dense")
    replacement = createSlicesToDense(builder, op);
  else if (target == "lockstep.attention")
    replacement = createAttention<device::AttentionOp>(builder, op);
  else if (target == "lockstep.attention_gradient")
    replacement = createAttention<device::AttentionGradientOp>(builder, op);
  else if (target == "replica.id")
    replacement =
        replica::IdOp::create(builder, op->getLoc(), op->getResultTypes())
            .getOperation();
  else if (target == "replica.num_in_sync")
    replacement = replica::NumInSyncOp::create(builder, op->getLoc(),
                                               op->getResultTypes())
                      .getOperation();
  else {
    InFlightDiagnostic diag = emitError(op->getLoc())
                              << "cannot import the custom call '" << target
                              << "'";
    diag.attachNote() << "it calls a function of XLA's own runtime; express it "
                         "by other JAX operations";
    return diag;
  }
  if (failed(replacement))
    return failure();
  if ((*replacement)->getResultTypes() != op->getResultTypes()) {
    InFlightDiagnostic diag = emitError(op->getLoc())
                              << "'" << target
                              << "' expected results of types ("
                              << (*replacement)->getResultTypes()
                              << "), found (" << op->getResultTypes() << ")";
    (*replacement)->erase();
    return diag;
  }
  op->replaceAllUsesWith(*replacement);
  op->erase();
  return success();
}

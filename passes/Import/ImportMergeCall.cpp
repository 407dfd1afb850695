//===- ImportMergeCall.cpp - custom_call @replica.merge_call --------------===//

#include "passes/Import/StableHLO.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// A merge call names a function on plain tensors. Its arguments are components
/// of per-replica values. Computations from these alone are hoisted out of the
/// merge call, into replica context. All other operations become the region of
/// a `replica.merge_call`.
class MergeCall {
public:
  MergeCall(Operation *call, func::FuncOp function)
      : call(call), function(function), outside(call),
        inside(call->getContext()) {}

  LogicalResult import();

private:
  /// Finds the values that differ from replica to replica.
  LogicalResult findPerReplica();
  LogicalResult importOperation(Operation *op);
  LogicalResult importReduceTo(Operation *op);
  LogicalResult importGather(Operation *op);

  /// The argument of the region for a per-replica value.
  Value getPerReplica(Value value);
  /// One replica's component of a per-replica value, computed before the merge
  /// call.
  Value getComponent(Value value);
  /// A value in the region, as a plain tensor.
  Value getPlain(Value value);
  /// A value in the region with its type there: per-replica, mirrored or plain.
  Value getAny(Value value) {
    return perReplica.contains(value) ? getPerReplica(value)
                                      : values.lookup(value);
  }
  /// The location of an operation of the function, as called by `call`.
  Location getLoc(Operation *op) const {
    return CallSiteLoc::get(op->getLoc(), call->getLoc());
  }

  Operation *call;
  func::FuncOp function;
  OpBuilder outside, inside;
  Block *region = nullptr;
  DenseSet<Value> perReplica;
  /// Maps values of the function to components before the call, to values in
  /// the region, and to plain tensors in the region.
  IRMapping components, values, plain;
  llvm::MapVector<Value, BlockArgument> arguments;
};

} // namespace

static StringRef getTarget(Operation *op) {
  auto target = op->getAttrOfType<StringAttr>("call_target_name");
  return target ? target.getValue() : StringRef();
}

bool stablehlo::isMergeCall(Operation *op) {
  return getTarget(op) == "replica.merge_call";
}

bool stablehlo::isCrossReplica(Operation *op) {
  return llvm::is_contained({"replica.reduce_to", "replica.gather",
                             "replica.broadcast_to", "replica.local_results"},
                            getTarget(op));
}

LogicalResult MergeCall::findPerReplica() {
  Block &body = function.getBody().front();
  DenseSet<Value> merged;
  perReplica.insert_range(body.getArguments());
  for (Operation &op : llvm::drop_end(body)) {
    bool usesPerReplica = false, usesMerged = false;
    op.walk([&](Operation *nested) {
      usesPerReplica |= llvm::any_of(nested->getOperands(), [&](Value v) {
        return perReplica.contains(v);
      });
      usesMerged |= llvm::any_of(nested->getOperands(),
                                 [&](Value v) { return merged.contains(v); });
    });
    bool isCross = stablehlo::isCrossReplica(&op);
    if (isCross || usesMerged)
      merged.insert_range(op.getResults());
    if (isCross || !usesPerReplica)
      continue;
    if (usesMerged || !isMemoryEffectFree(&op))
      return emitError(getLoc(&op))
             << "cannot import the merge_call: expected 'replica.reduce_to', "
                "'replica.gather' or "
                "'replica.local_results' of a per-replica value, found '"
             << op.getName() << "' of one and of merged values";
    perReplica.insert_range(op.getResults());
  }
  return success();
}

Value MergeCall::getComponent(Value value) {
  if (Value known = components.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (operand.getParentBlock() == op->getBlock())
        getComponent(operand);
  });
  Operation *hoisted = outside.clone(*op, components);
  hoisted->setLoc(getLoc(op));
  return components.lookup(value);
}

Value MergeCall::getPerReplica(Value value) {
  Value component = getComponent(value);
  auto [it, isNew] = arguments.try_emplace(component);
  if (isNew)
    it->second = region->addArgument(
        replica::PerReplicaType::get(
            value.getContext(), cast<RankedTensorType>(component.getType())),
        call->getLoc());
  return it->second;
}

Value MergeCall::getPlain(Value value) {
  Value found = values.lookup(value);
  auto mirrored = dyn_cast<replica::MirroredType>(found.getType());
  if (!mirrored)
    return found;
  if (!plain.contains(value)) {
    // Equal on all replicas, and so a plain value for computations. The cast is
    // removed when mirrored types become plain tensors (`splice-contexts`).
    auto cast = UnrealizedConversionCastOp::create(
        inside, found.getLoc(), mirrored.getComponent(), found);
    plain.map(value, cast.getResult(0));
  }
  return plain.lookup(value);
}

LogicalResult MergeCall::importReduceTo(Operation *op) {
  FailureOr<replica::Reduction> reduction =
      stablehlo::getReduction(op, replica::kSumOrMean);
  if (failed(reduction))
    return failure();
  for (auto [operand, result] :
       llvm::zip_equal(op->getOperands(), op->getResults())) {
    auto type = replica::MirroredType::get(
        op->getContext(), cast<RankedTensorType>(result.getType()));
    Value value = perReplica.contains(operand) ? getPerReplica(operand)
                                               : getPlain(operand);
    values.map(result,
               replica::ReduceToOp::create(inside, getLoc(op), type, *reduction,
                                           value, FlatSymbolRefAttr()));
  }
  return success();
}

LogicalResult MergeCall::importGather(Operation *op) {
  auto config = op->getAttrOfType<DictionaryAttr>("backend_config");
  auto axis = config ? config.getAs<IntegerAttr>("axis") : IntegerAttr();
  if (!axis)
    return emitError(getLoc(op))
           << "'replica.gather' expected an integer 'axis', found none";
  for (auto [operand, result] :
       llvm::zip_equal(op->getOperands(), op->getResults()))
    values.map(result, replica::GatherOp::create(
                           inside, getLoc(op), result.getType(),
                           getPerReplica(operand), axis.getInt()));
  return success();
}

LogicalResult MergeCall::importOperation(Operation *op) {
  StringRef target = getTarget(op);
  bool needsPerReplica =
      target == "replica.gather" || target == "replica.local_results";
  for (Value operand : op->getOperands())
    if (needsPerReplica && !perReplica.contains(operand))
      return emitError(getLoc(op)) << "'" << target
                                   << "' expected a per-replica value, found "
                                      "one that is equal on all replicas";
  if (target == "replica.reduce_to")
    return importReduceTo(op);
  if (target == "replica.gather")
    return importGather(op);
  if (target == "replica.local_results") {
    auto list = replica::LocalResultsOp::create(
        inside, getLoc(op), op->getResultTypes(),
        getPerReplica(op->getOperand(0)));
    values.map(op->getResults(), list.getResults());
    return success();
  }
  if (target == "replica.broadcast_to") {
    for (auto [operand, result] :
         llvm::zip_equal(op->getOperands(), op->getResults())) {
      if (perReplica.contains(operand))
        return emitError(getLoc(op))
               << "'" << target
               << "' expected a plain value, found a per-replica one";
      auto type = replica::MirroredType::get(
          op->getContext(), cast<RankedTensorType>(result.getType()));
      values.map(result, replica::BroadcastToOp::create(inside, getLoc(op),
                                                        type, getPlain(operand),
                                                        FlatSymbolRefAttr()));
    }
    return success();
  }
  // Per-replica computations are hoisted by `getComponent` when they are used.
  if (llvm::any_of(op->getResults(),
                   [&](Value result) { return perReplica.contains(result); }))
    return success();
  IRMapping mapping;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (operand.getParentBlock() == op->getBlock())
        mapping.map(operand, getPlain(operand));
  });
  Operation *copy = inside.clone(*op, mapping);
  copy->setLoc(getLoc(op));
  values.map(op->getResults(), copy->getResults());
  return success();
}

LogicalResult MergeCall::import() {
  Block &body = function.getBody().front();
  if (failed(findPerReplica()))
    return failure();
  components.map(body.getArguments(), call->getOperands());
  Region temporary;
  region = new Block();
  temporary.push_back(region);
  inside.setInsertionPointToEnd(region);
  for (Operation &op : llvm::drop_end(body))
    if (failed(importOperation(&op)))
      return failure();
  Operation *terminator = body.getTerminator();
  replica::YieldOp::create(
      inside, getLoc(terminator),
      llvm::map_to_vector(terminator->getOperands(),
                          [&](Value value) { return getAny(value); }));

  SmallVector<Value> operands =
      llvm::map_to_vector(arguments, [](auto &entry) { return entry.first; });
  auto merge = replica::MergeCallOp::create(outside, call->getLoc(),
                                            call->getResultTypes(), operands);
  merge.getBody().takeBody(temporary);
  call->replaceAllUsesWith(merge);
  call->erase();
  return success();
}

LogicalResult stablehlo::importMergeCall(Operation *op) {
  auto callees = op->getAttrOfType<ArrayAttr>("called_computations");
  auto callee = callees && callees.size() == 1
                    ? dyn_cast<FlatSymbolRefAttr>(callees[0])
                    : FlatSymbolRefAttr();
  auto function =
      callee
          ? op->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(callee)
          : func::FuncOp();
  if (!function || function.isExternal() || !function.getBody().hasOneBlock() ||
      function.getArgumentTypes() != op->getOperandTypes() ||
      function.getResultTypes() != op->getResultTypes())
    return emitError(op->getLoc())
           << "'replica.merge_call' expected one function of the operands' and "
              "results' types in "
              "'called_computations', found "
           << op->getAttr("called_computations");
  return MergeCall(op, function).import();
}

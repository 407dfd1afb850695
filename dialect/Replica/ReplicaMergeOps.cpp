//===- ReplicaMergeOps.cpp - merge_call and cross-replica context ---------===//

#include "dialect/Replica/ReplicaDialect.h"

using namespace lockstep;
using namespace lockstep::replica;
using namespace mlir;

/// The tensor type of one replica's component of `type`.
static RankedTensorType getComponent(Type type) {
  if (auto perReplica = dyn_cast<PerReplicaType>(type))
    return perReplica.getComponent();
  if (auto mirrored = dyn_cast<MirroredType>(type))
    return mirrored.getComponent();
  return dyn_cast<RankedTensorType>(type);
}

Context MergeCallOp::getOpenedContext() { return Context::CrossReplica; }

LogicalResult MergeCallOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getNumOperands())
    return emitOpError("expected ") << getNumOperands() << " arguments of the region, found " << body.getNumArguments();
  for (auto [operand, argument] : llvm::zip_equal(getOperands(), body.getArguments())) {
    if (isa<MirroredType>(argument.getType()) || getComponent(argument.getType()) != operand.getType())
      return emitOpError("expected a region argument of type ")
             << operand.getType() << " or per replica of it, found " << argument.getType();
  }
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getNumOperands() != getNumResults())
    return emitOpError("expected the region to yield ") << getNumResults() << " values, found " << yield.getNumOperands();
  for (auto [result, value] : llvm::zip_equal(getResults(), yield.getOperands()))
    if (getComponent(value.getType()) != result.getType())
      return emitOpError("expected the region to yield a component of type ") << result.getType() << ", found " << value.getType();
  return success();
}

/// Checks that an optional destination is a variable.
static LogicalResult verifyDestination(Operation *op, FlatSymbolRefAttr destination, SymbolTableCollection &symbolTable) {
  if (destination && !symbolTable.lookupNearestSymbolFrom<VariableOp>(op, destination))
    return op->emitOpError("expected the destination to be a variable, found ") << destination << " [E_ARG_TYPE]";
  return success();
}

LogicalResult ReduceToOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyDestination(*this, getDestinationAttr(), symbolTable);
}

LogicalResult ReduceToOp::verify() {
  Type type = getValue().getType();
  if (getReduction() == Reduction::Sum && !isa<PerReplicaType>(type))
    return emitOpError("expected a per-replica value for reduction 'sum', found ")
           << type << ", which would be added once a replica [E_NON_DISTRIBUTED_SUM]";
  RankedTensorType component = getComponent(type);
  if (!component)
    return emitOpError("expected a tensor, per-replica or mirrored value, found ") << type << " [E_ARG_TYPE]";
  if (getReduction() == Reduction::Mean && component.getElementType().isInteger())
    component = component.clone(Float64Type::get(getContext()));
  if (getResult().getType().getComponent() != component)
    return emitOpError("expected a result with components of type ") << component << ", found " << getResult().getType();
  return success();
}

ResultUniformity ReduceToOp::getResultUniformity(unsigned) { return ResultUniformity::Uniform; }

LogicalResult BroadcastToOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyDestination(*this, getDestinationAttr(), symbolTable);
}

LogicalResult BroadcastToOp::verify() {
  if (getResult().getType().getComponent() != getValue().getType())
    return emitOpError("expected a result with components of type ") << getValue().getType() << ", found " << getResult().getType();
  return success();
}

LogicalResult GatherOp::verify() {
  RankedTensorType from = getValue().getType().getComponent();
  auto to = cast<RankedTensorType>(getResult().getType());
  if (from.getRank() == 0)
    return emitOpError("expected a value with an axis to gather along, found the scalar ") << from << " [E_SCALAR_GATHER]";
  int64_t axis = getAxisAttr().getInt();
  if (axis < 0 || axis >= from.getRank())
    return emitOpError("expected an axis in [0, ") << from.getRank() << "), found " << axis << " [E_AXIS_RANGE]";
  if (to.getRank() != from.getRank() || to.getElementType() != from.getElementType())
    return emitOpError("expected a result of rank ") << from.getRank() << " and element type " << from.getElementType() << ", found " << to;
  return success();
}

ResultUniformity GatherOp::getResultUniformity(unsigned) { return ResultUniformity::Uniform; }

ResultUniformity LocalResultsOp::getResultUniformity(unsigned) { return ResultUniformity::Uniform; }

LogicalResult LocalResultsOp::verify() {
  for (auto strategy : (*this)->getParentOfType<ModuleOp>().getOps<StrategyOp>())
    if (strategy.getReplicas() && *strategy.getReplicas() != getNumResults())
      return emitOpError("expected one result for each of ") << *strategy.getReplicas() << " replicas, found " << getNumResults();
  for (Value result : getResults())
    if (result.getType() != getValue().getType().getComponent())
      return emitOpError("expected results of type ") << getValue().getType().getComponent() << ", found " << result.getType();
  return success();
}

Context UpdateOp::getOpenedContext() { return Context::CrossReplica; }

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto variable = symbolTable.lookupNearestSymbolFrom<VariableOp>(*this, getVariableAttr());
  if (!variable)
    return emitOpError("unknown variable ") << getVariableAttr();
  Block &body = getBody().front();
  Type expected = variable.getType();
  if (body.getNumArguments() == 0 || body.getArgument(0).getType() != expected)
    return emitOpError("expected the first argument of the region to be the variable's value of type ") << expected;
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getNumOperands() == 0 || yield.getOperand(0).getType() != expected)
    return emitOpError("expected the region to yield the variable's new value of type ") << expected << " first";
  return success();
}

LogicalResult UpdateOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getNumOperands() + 1)
    return emitOpError("expected ") << getNumOperands() + 1 << " arguments of the region, found " << body.getNumArguments();
  for (auto [operand, argument] : llvm::zip_equal(getOperands(), body.getArguments().drop_front())) {
    if (isa<PerReplicaType>(operand.getType()))
      return emitOpError("expected operands that are equal on all replicas, found ")
             << operand.getType() << ", with which the copies of the variable would diverge [E_PER_REPLICA_IN_UPDATE]";
    if (getComponent(operand.getType()) != argument.getType())
      return emitOpError("expected a region argument of type ") << getComponent(operand.getType()) << ", found " << argument.getType();
  }
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getNumOperands() != getNumResults() + 1)
    return emitOpError("expected the region to yield ") << getNumResults() + 1 << " values, found " << yield.getNumOperands();
  return success();
}

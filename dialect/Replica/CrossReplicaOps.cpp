//===- CrossReplicaOps.cpp - merge_call, programs, cross-replica context --===//

#include "dialect/Interfaces/PlainValues.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace lockstep;
using namespace lockstep::replica;
using namespace mlir;

TensorType lockstep::replica::getComponent(Type type) {
  if (auto perReplica = dyn_cast<PerReplicaType>(type))
    return perReplica.getComponent();
  if (auto mirrored = dyn_cast<MirroredType>(type))
    return mirrored.getComponent();
  return dyn_cast<TensorType>(type);
}

//===----------------------------------------------------------------------===//
// Operations with a region in another context
//===----------------------------------------------------------------------===//

Context MergeCallOp::getOpenedContext() { return Context::CrossReplica; }
Context RunOp::getOpenedContext() { return Context::Replica; }
Context UpdateOp::getOpenedContext() { return Context::CrossReplica; }
Context UpdateNonSlotOp::getOpenedContext() { return Context::CrossReplica; }
Context ValuesFromFunctionOp::getOpenedContext() {
  return Context::CrossReplica;
}

LogicalResult MergeCallOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getNumOperands())
    return emitOpError("expected ")
           << getNumOperands() << " arguments of the region, found "
           << body.getNumArguments();
  for (auto [operand, argument] :
       llvm::zip_equal(getOperands(), body.getArguments())) {
    if (isa<MirroredType>(argument.getType()) ||
        getComponent(argument.getType()) != operand.getType())
      return emitOpError("expected a region argument of type ")
             << operand.getType() << " or "
             << PerReplicaType::get(getContext(),
                                    cast<TensorType>(operand.getType()))
             << ", found " << argument.getType();
  }
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getNumOperands() != getNumResults())
    return emitOpError("expected the region to yield ")
           << getNumResults() << " values, found " << yield.getNumOperands();
  for (auto [result, value] :
       llvm::zip_equal(getResults(), yield.getOperands()))
    if (getComponent(value.getType()) != result.getType())
      return emitOpError("expected the region to yield a component of type ")
             << result.getType() << ", found " << value.getType();
  return success();
}

/// Verifies that the arguments of a region, after the first `leading`, are the
/// components of `operands`. [1.2-select]
static LogicalResult verifyComponents(Operation *op, Block &body,
                                      OperandRange operands, unsigned leading) {
  if (body.getNumArguments() != operands.size() + leading)
    return op->emitOpError("expected ")
           << operands.size() + leading << " arguments of the region, found "
           << body.getNumArguments();
  for (auto [operand, argument] :
       llvm::zip_equal(operands, body.getArguments().drop_front(leading)))
    if (getComponent(operand.getType()) != argument.getType())
      return op->emitOpError("expected a region argument of type ")
             << getComponent(operand.getType()) << ", found "
             << argument.getType();
  return success();
}

/// Verifies that the values that a region yields, after the first `leading`,
/// are the components of `results`.
static LogicalResult verifyYields(Operation *op, Block &body,
                                  ResultRange results, unsigned leading) {
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield)
    return op->emitOpError(
               "expected the region to end in 'replica.yield', found '")
           << body.getTerminator()->getName() << "'";
  if (yield.getNumOperands() != results.size() + leading)
    return op->emitOpError("expected the region to yield ")
           << results.size() + leading << " values, found "
           << yield.getNumOperands();
  for (auto [result, value] :
       llvm::zip_equal(results, yield.getOperands().drop_front(leading)))
    if (getComponent(result.getType()) != value.getType())
      return op->emitOpError("expected the region to yield a component of ")
             << result.getType() << ", found " << value.getType();
  return success();
}

/// Verifies that a region that is executed for each replica, in no order, has
/// no operation with an effect: another replica could see it or not.
static LogicalResult verifyNoWrites(Operation *op, Region &body) {
  WalkResult found = body.walk([&](Operation *nested) {
    if (!hasEffect<MemoryEffects::Write>(nested))
      return WalkResult::advance();
    InFlightDiagnostic diag =
        op->emitOpError("expected a region without effects, since it is "
                        "executed for each replica, found '")
        << nested->getName() << "'";
    diag.attachNote(nested->getLoc()) << "an operation with an effect";
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

LogicalResult RunOp::verify() {
  if (getCalleeAttr() && !getBody().empty())
    return emitOpError("expected a step to call or a region, found both");
  if (getCalleeAttr())
    return success();
  if (getBody().empty() || getBody().front().empty())
    return emitOpError("expected a step to call or a region, found neither");
  Block &body = getBody().front();
  return success(
      succeeded(verifyComponents(*this, body, getOperands(), /*leading=*/0)) &&
      succeeded(verifyYields(*this, body, getResults(), /*leading=*/0)));
}

LogicalResult RunOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (!getCalleeAttr())
    return success();
  auto step =
      symbolTable.lookupNearestSymbolFrom<StepOp>(*this, getCalleeAttr());
  if (!step)
    return emitOpError("unknown step ") << getCalleeAttr();
  auto components = [](TypeRange types) {
    return llvm::map_to_vector(
        types, [](Type type) -> Type { return getComponent(type); });
  };
  if (TypeRange(components(getOperandTypes())) !=
      TypeRange(step.getArgumentTypes()))
    return emitOpError("expected operands for (")
           << step.getArgumentTypes() << "), found (" << getOperandTypes()
           << ")";
  if (TypeRange(components(getResultTypes())) !=
      TypeRange(step.getResultTypes()))
    return emitOpError("expected results of (")
           << step.getResultTypes() << "), found (" << getResultTypes() << ")";
  return success();
}

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  VariableOp variable = lookupVariable(*this, symbolTable);
  if (!variable)
    return emitOpError("unknown variable ") << getVariableAttr();
  Block &body = getBody().front();
  Type expected = variable.getType();
  if (body.getNumArguments() == 0 || body.getArgument(0).getType() != expected)
    return emitOpError("expected the first argument of the region to be the "
                       "variable's value of type ")
           << expected;
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getNumOperands() == 0 || yield.getOperand(0).getType() != expected)
    return emitOpError(
               "expected the region to yield the variable's new value of type ")
           << expected << " first";
  if (variable.getSynchronization() == Synchronization::OnRead)
    return verifyNoWrites(*this, getBody());
  return success();
}

LogicalResult UpdateOp::verify() {
  Block &body = getBody().front();
  return success(
      succeeded(verifyComponents(*this, body, getOperands(), /*leading=*/1)) &&
      succeeded(verifyYields(*this, body, getResults(), /*leading=*/1)));
}

LogicalResult UpdateNonSlotOp::verify() {
  Block &body = getBody().front();
  for (Type type : getResultTypes())
    if (isa<PerReplicaType>(type))
      return emitOpError("expected mirrored or plain results, found ") << type;
  return success(
      succeeded(verifyComponents(*this, body, getOperands(), /*leading=*/0)) &&
      succeeded(verifyYields(*this, body, getResults(), /*leading=*/0)));
}

LogicalResult ValuesFromFunctionOp::verify() {
  Block &body = getBody().front();
  auto id = RankedTensorType::get({}, IntegerType::get(getContext(), 32));
  if (body.getNumArguments() != 1 || body.getArgument(0).getType() != id)
    return emitOpError("expected the region to have one argument of type ")
           << id << ", the number of a replica";
  return success(
      succeeded(verifyYields(*this, body, getResults(), /*leading=*/0)) &&
      succeeded(verifyNoWrites(*this, getBody())));
}

ResultUniformity
ValuesFromFunctionOp::getResultUniformity(unsigned, SymbolTableCollection &) {
  return ResultUniformity::Varying;
}

//===----------------------------------------------------------------------===//
// Iterators
//===----------------------------------------------------------------------===//

LogicalResult NextOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location>,
                                       ValueRange operands, DictionaryAttr,
                                       OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  for (Type element : cast<IteratorType>(operands[0].getType()).getElements())
    types.push_back(PerReplicaType::get(context, cast<TensorType>(element)));
  return success();
}

ResultUniformity NextOp::getResultUniformity(unsigned,
                                             SymbolTableCollection &) {
  return ResultUniformity::Varying;
}

LogicalResult RunStepsOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto step =
      symbolTable.lookupNearestSymbolFrom<StepOp>(*this, getCalleeAttr());
  if (!step)
    return emitOpError("unknown step ") << getCalleeAttr();
  SmallVector<Type> inputs(getIterator().getType().getElements());
  for (Type type : getParameters().getTypes())
    inputs.push_back(getComponent(type));
  if (TypeRange(inputs) != TypeRange(step.getArgumentTypes()))
    return emitOpError("expected a batch and parameters for (")
           << step.getArgumentTypes() << "), found (" << inputs << ")";
  if (getReductions().size() != getNumResults() ||
      step.getNumResults() != getNumResults())
    return emitOpError("expected a reduction and a result for each of ")
           << step.getNumResults() << " results of the step, found "
           << getReductions().size() << " and " << getNumResults();
  for (auto [type, name, result] : llvm::zip_equal(
           step.getResultTypes(), getReductions().getAsValueRange<StringAttr>(),
           getResultTypes())) {
    std::optional<Reduction> reduction = symbolizeReduction(name);
    if (name != "none" && reduction != Reduction::Sum &&
        reduction != Reduction::Mean)
      return emitOpError(
                 "expected a reduction 'sum', 'mean' or 'none', found '")
             << name << "' [E_REDUCE_OP]";
    Type expected =
        reduction ? Type(getReducedType(*reduction, cast<TensorType>(type)))
                  : PerReplicaType::get(getContext(), cast<TensorType>(type));
    if (result != expected)
      return emitOpError("expected a result of type ")
             << expected << " for '" << name << "' of " << type << ", found "
             << result;
  }
  for (NamedAttribute output :
       getNonTensorOutputs().value_or(DictionaryAttr::get(getContext())))
    if (!isPlainValue(output.getValue()))
      return emitOpError("expected output '")
             << output.getName().getValue()
             << "' to be made of strings, booleans, i64 and finite f64, found "
             << output.getValue();
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions and gathers
//===----------------------------------------------------------------------===//

/// Verifies that an optional destination is a variable. [4-destinations]
static LogicalResult verifyDestination(Operation *op,
                                       FlatSymbolRefAttr destination,
                                       SymbolTableCollection &symbolTable) {
  if (destination &&
      !symbolTable.lookupNearestSymbolFrom<VariableOp>(op, destination))
    return op->emitOpError("expected the destination to be a variable, found ")
           << destination << " [E_ARG_TYPE]";
  return success();
}

/// Verifies the types of an element-wise reduction of `value` to `result`. A
/// mean of integers is f64, but the result may also have integers: with one
/// replica, and for a value that is equal on all replicas, the mean is the
/// value itself (docs/semantics.md, sections 2.1 and 4).
static LogicalResult verifyReduced(Operation *op, Reduction reduction,
                                   Type value, Type result) {
  TensorType component = getComponent(value), reduced = getComponent(result);
  if (!component)
    return op->emitOpError(
               "expected a tensor, per-replica or mirrored value, found ")
           << value << " [E_ARG_TYPE]";
  if (reduced != component && reduced != getReducedType(reduction, component))
    return op->emitOpError("expected a result with components of type ")
           << getReducedType(reduction, component) << ", found " << result;
  return success();
}

LogicalResult ReduceToOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyDestination(*this, getDestinationAttr(), symbolTable);
}

LogicalResult ReduceToOp::verify() {
  return verifyReduced(*this, getReduction(), getValue().getType(),
                       getResult().getType());
}

ResultUniformity ReduceToOp::getResultUniformity(unsigned,
                                                 SymbolTableCollection &) {
  return ResultUniformity::Uniform;
}

LogicalResult
BatchReduceToOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (ArrayAttr destinations = getDestinationsAttr())
    for (auto destination : destinations.getAsRange<FlatSymbolRefAttr>())
      if (failed(verifyDestination(*this, destination, symbolTable)))
        return failure();
  return success();
}

LogicalResult BatchReduceToOp::verify() {
  if (getNumOperands() != getNumResults())
    return emitOpError("expected one result for each of ")
           << getNumOperands() << " operands, found " << getNumResults();
  if (ArrayAttr destinations = getDestinationsAttr();
      destinations && destinations.size() != getNumOperands())
    return emitOpError("expected one destination for each of ")
           << getNumOperands() << " operands, found " << destinations.size();
  for (auto [operand, result] : llvm::zip_equal(getOperands(), getResults()))
    if (failed(verifyReduced(*this, getReduction(), operand.getType(),
                             result.getType())))
      return failure();
  return success();
}

ResultUniformity BatchReduceToOp::getResultUniformity(unsigned,
                                                      SymbolTableCollection &) {
  return ResultUniformity::Uniform;
}

LogicalResult ReduceOp::verify() {
  Type type = getValue().getType();
  if (!getAxes())
    return verifyReduced(*this, getReduction(), type, getResult().getType());
  auto component = dyn_cast_or_null<RankedTensorType>(getComponent(type));
  if (!component)
    return emitOpError("expected a tensor, per-replica or mirrored value with "
                       "a rank, found ")
           << type << " [E_ARG_TYPE]";
  SmallVector<bool> reduced(component.getRank());
  for (int64_t axis : getAxesAttr().asArrayRef()) {
    if (axis < 0 || axis >= component.getRank())
      return emitOpError("expected an axis in [0, ")
             << component.getRank() << "), found " << axis << " [E_AXIS_RANGE]";
    if (reduced[axis])
      return emitOpError("expected different axes, found ") << axis << " twice";
    reduced[axis] = true;
  }
  SmallVector<int64_t> shape;
  for (auto [d, size] : llvm::enumerate(component.getShape()))
    if (!reduced[d])
      shape.push_back(size);
  Type element = getReducedType(getReduction(), component).getElementType();
  auto expected = RankedTensorType::get(shape, element);
  if (getResult().getType() != expected)
    return emitOpError("expected a result of type ")
           << expected << ", found " << getResult().getType();
  return success();
}

ResultUniformity ReduceOp::getResultUniformity(unsigned,
                                               SymbolTableCollection &) {
  return ResultUniformity::Uniform;
}

LogicalResult
BroadcastToOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyDestination(*this, getDestinationAttr(), symbolTable);
}

LogicalResult BroadcastToOp::verify() {
  if (getComponent(getResult().getType()) != getValue().getType())
    return emitOpError("expected a result with components of type ")
           << getValue().getType() << ", found " << getResult().getType();
  return success();
}

LogicalResult GatherOp::verify() {
  TensorType component = getComponent(getValue().getType());
  if (!component)
    return emitOpError(
               "expected a tensor, per-replica or mirrored value, found ")
           << getValue().getType() << " [E_ARG_TYPE]";
  // The axis is verified by `apply-strategy`: with one replica, the result is
  // the value itself, and any axis is valid.
  auto from = dyn_cast<RankedTensorType>(component);
  auto to = dyn_cast<RankedTensorType>(getResult().getType());
  if (!from || component == getResult().getType())
    return success();
  if (!to || to.getRank() != from.getRank() ||
      to.getElementType() != from.getElementType())
    return emitOpError("expected a result of rank ")
           << from.getRank() << " and element type " << from.getElementType()
           << ", found " << getResult().getType();
  return success();
}

ResultUniformity GatherOp::getResultUniformity(unsigned,
                                               SymbolTableCollection &) {
  return ResultUniformity::Uniform;
}

ResultUniformity LocalResultsOp::getResultUniformity(unsigned,
                                                     SymbolTableCollection &) {
  return ResultUniformity::Uniform;
}

LogicalResult LocalResultsOp::verify() {
  for (auto strategy :
       (*this)->getParentOfType<ModuleOp>().getOps<StrategyOp>())
    if (strategy.getReplicas() && *strategy.getReplicas() != getNumResults())
      return emitOpError("expected one result for each of ")
             << *strategy.getReplicas() << " replicas, found "
             << getNumResults();
  TensorType component = getComponent(getValue().getType());
  for (Value result : getResults())
    if (result.getType() != component)
      return emitOpError("expected results of type ")
             << component << ", found " << result.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// ProgramOp
//===----------------------------------------------------------------------===//

void ProgramOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                      FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(),
                     builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}

ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void ProgramOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

Context ProgramOp::getOpenedContext() { return Context::CrossReplica; }

//===- ReplicaOps.cpp - Steps, variables and replica context --------------===//

#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/Support/FormatVariadic.h"

using namespace lockstep;
using namespace lockstep::replica;
using namespace mlir;

/// A reduction by its name.
static ParseResult parseReduction(OpAsmParser &parser, ReductionAttr &reduction) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<Reduction> value = symbolizeReduction(name);
  if (!value)
    return parser.emitError(loc) << "expected a reduction 'sum' or 'mean', found '" << name << "' [E_REDUCE_OP]";
  reduction = ReductionAttr::get(parser.getContext(), *value);
  return success();
}

static void printReduction(OpAsmPrinter &printer, Operation *, ReductionAttr reduction) {
  printer << stringifyReduction(reduction.getValue());
}

#define GET_OP_CLASSES
#include "dialect/Replica/ReplicaOps.cpp.inc"

//===----------------------------------------------------------------------===//
// StrategyOp, VariableOp
//===----------------------------------------------------------------------===//

LogicalResult StrategyOp::verify() {
  auto strategies = (*this)->getParentOfType<ModuleOp>().getOps<StrategyOp>();
  if (*strategies.begin() != *this)
    return emitOpError("expected at most one strategy in a module");
  if (getKind() != Kind::Mirrored && getReplicas().value_or(1) != 1)
    return emitOpError("expected 1 replica for strategy '") << stringifyKind(getKind()) << "', found " << *getReplicas();
  return success();
}

/// Values of up to this many bytes may stand in the module itself.
static constexpr int64_t kMaxInlineBytes = 4096;

LogicalResult VariableOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!type.getElementType().isIntOrFloat())
    return emitOpError("expected elements that are integers or floats, found ") << type.getElementType();
  if (getAggregation() == Aggregation::Mean && !isa<FloatType>(type.getElementType()))
    return emitOpError("expected a float type for aggregation 'mean', found ") << type << " [E_MEAN_INT_VAR]";
  if (ElementsAttr initial = getInitialAttr()) {
    if (initial.getType() != type)
      return emitOpError("expected an initial value of type ") << type << ", found " << initial.getType();
    int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8) * type.getNumElements();
    if (!initial.isSplat() && bytes > kMaxInlineBytes)
      return emitOpError("expected an initial value of at most ")
             << kMaxInlineBytes << " bytes, found " << bytes << "; give it by name in a safetensors file";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// StepOp, ReturnOp
//===----------------------------------------------------------------------===//

void StepOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results, function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void StepOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

Context StepOp::getOpenedContext() { return Context::Replica; }

LogicalResult StepOp::verify() {
  for (unsigned i = 0; i < getNumArguments(); ++i) {
    auto has = [&](StringRef name) { return static_cast<bool>(getArgAttr(i, name)); };
    int bound = has("replica.batch") + has("replica.scalar") + has("replica.variable");
    if (bound > 1)
      return emitOpError("expected one of 'replica.batch', 'replica.scalar' and 'replica.variable' for argument ")
             << i << ", found " << bound;
    Attribute value = getArgAttr(i, "replica.default");
    if (!value)
      continue;
    if (!has("replica.scalar"))
      return emitOpError("expected 'replica.default' beside 'replica.scalar' for argument ") << i;
    Type expected = getElementTypeOrSelf(getArgumentTypes()[i]);
    auto typed = dyn_cast<TypedAttr>(value);
    if (!typed || getElementTypeOrSelf(typed.getType()) != expected)
      return emitOpError("expected 'replica.default' to be of type ") << expected << ", found " << value;
  }
  return success();
}

LogicalResult ReturnOp::verify() {
  ArrayRef<Type> expected = cast<StepOp>((*this)->getParentOp()).getResultTypes();
  if (TypeRange(expected) != getOperandTypes())
    return emitOpError("expected operands of types (") << expected << "), found (" << getOperandTypes() << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// The variable that `op` names by `symbol`, checked against the type of its value.
static LogicalResult verifyVariableUse(Operation *op, FlatSymbolRefAttr symbol, Type valueType, SymbolTableCollection &symbolTable) {
  auto variable = symbolTable.lookupNearestSymbolFrom<VariableOp>(op, symbol);
  if (!variable)
    return op->emitOpError("unknown variable ") << symbol;
  if (variable.getType() == valueType)
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected a value of type ") << variable.getType() << ", found " << valueType;
  diag.attachNote(variable.getLoc()) << "the variable is declared here";
  return diag;
}

/// Rules for variables that are synchronized on read (reference, section 5.3), in cross-replica context.
static LogicalResult verifyCombinedUse(Operation *op, FlatSymbolRefAttr symbol, Aggregation refused, StringRef message,
                                       SymbolTableCollection &symbolTable) {
  auto variable = symbolTable.lookupNearestSymbolFrom<VariableOp>(op, symbol);
  if (getEnclosingContext(op) != Context::CrossReplica || variable.getSynchronization() != Synchronization::OnRead ||
      variable.getAggregation() != refused)
    return success();
  InFlightDiagnostic diag = op->emitOpError();
  diag << llvm::formatv(message.data(), symbol.getValue()).str();
  diag.attachNote(variable.getLoc()) << "the variable is declared here";
  return diag;
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (failed(verifyVariableUse(*this, getVariableAttr(), getType(), symbolTable)))
    return failure();
  return verifyCombinedUse(*this, getVariableAttr(), Aggregation::None,
                           "reads variable '{0}', whose copies no aggregation combines, in cross-replica context [E_AGG_NONE]",
                           symbolTable);
}

ResultUniformity ReadOp::getResultUniformity(unsigned) {
  // Cross-replica context reads the combination of all copies, replica context its own copy (reference, section 5.3).
  if (getEnclosingContext(*this) == Context::CrossReplica)
    return ResultUniformity::FromOperands;
  auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(*this, getVariableAttr());
  return variable && variable.getSynchronization() == Synchronization::OnRead ? ResultUniformity::Varying : ResultUniformity::FromOperands;
}

LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyVariableUse(*this, getVariableAttr(), getValue().getType(), symbolTable);
}
/// Adding to, or subtracting from, a variable: what is the sum of its copies cannot be changed by one value.
template <typename AssignOpTy> static LogicalResult verifyChange(AssignOpTy op, SymbolTableCollection &symbolTable) {
  if (failed(verifyVariableUse(op, op.getVariableAttr(), op.getValue().getType(), symbolTable)))
    return failure();
  return verifyCombinedUse(op, op.getVariableAttr(), Aggregation::Sum,
                           "changes variable '{0}', which is the sum of its copies, in cross-replica context "
                           "[E_ONREAD_ASSIGN_ADD_SUM]",
                           symbolTable);
}

LogicalResult AssignAddOp::verifySymbolUses(SymbolTableCollection &symbolTable) { return verifyChange(*this, symbolTable); }
LogicalResult AssignSubOp::verifySymbolUses(SymbolTableCollection &symbolTable) { return verifyChange(*this, symbolTable); }

//===----------------------------------------------------------------------===//
// Replica context
//===----------------------------------------------------------------------===//

ResultUniformity IdOp::getResultUniformity(unsigned) { return ResultUniformity::Varying; }

/// The type of the reduction of values of type `type` (reference, section 2.1: a mean of integers is f64).
static RankedTensorType getReducedType(Reduction reduction, RankedTensorType type) {
  if (reduction == Reduction::Mean && type.getElementType().isInteger())
    return type.clone(Float64Type::get(type.getContext()));
  return type;
}

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands, DictionaryAttr,
                                            OpaqueProperties properties, RegionRange, SmallVectorImpl<Type> &types) {
  Reduction reduction = properties.as<Properties *>()->reduction.getValue();
  for (Value operand : operands)
    types.push_back(getReducedType(reduction, cast<RankedTensorType>(operand.getType())));
  return success();
}

LogicalResult AllReduceOp::verify() {
  for (Value operand : getOperands()) {
    Type element = cast<RankedTensorType>(operand.getType()).getElementType();
    if (!element.isIntOrFloat() || element.isInteger(1))
      return emitOpError("expected elements that are numbers, found ") << element << " [E_DTYPE_UNSUPPORTED]";
  }
  return success();
}

ResultUniformity AllReduceOp::getResultUniformity(unsigned) { return ResultUniformity::Uniform; }

LogicalResult AllGatherOp::verify() {
  if (getNumOperands() != getNumResults())
    return emitOpError("expected one result for each of ") << getNumOperands() << " operands, found " << getNumResults();
  for (auto [operand, result] : llvm::zip_equal(getOperands(), getResults())) {
    auto from = cast<RankedTensorType>(operand.getType());
    auto to = cast<RankedTensorType>(result.getType());
    if (from.getRank() == 0)
      return emitOpError("expected an operand with an axis to gather along, found the scalar ") << from << " [E_SCALAR_GATHER]";
    int64_t axis = getAxisAttr().getInt();
    if (axis < 0 || axis >= from.getRank())
      return emitOpError("expected an axis in [0, ") << from.getRank() << "), found " << axis << " [E_AXIS_RANGE]";
    if (to.getRank() != from.getRank() || to.getElementType() != from.getElementType())
      return emitOpError("expected a result of rank ")
             << from.getRank() << " and element type " << from.getElementType() << ", found " << to;
    for (int64_t d = 0; d < from.getRank(); ++d)
      if (d != axis && from.getDimSize(d) != to.getDimSize(d))
        return emitOpError("expected dimension ")
               << d << " of the result to be as in the operand " << from << ", found " << to << " [E_SHAPE_MISMATCH]";
  }
  return success();
}

ResultUniformity AllGatherOp::getResultUniformity(unsigned) { return ResultUniformity::Uniform; }

//===- ReplicaOps.cpp - Steps, variables and replica context --------------===//

#include "dialect/Replica/ReplicaDialect.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "dialect/Replica/Boundaries.h"
#include "dialect/Replica/Strategy.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace lockstep::replica;
using namespace mlir;

/// Parses the name of a reduction, one of `allowed`. [2.1-op]
static ParseResult parseReduction(OpAsmParser &parser, ReductionAttr &reduction,
                                  ArrayRef<Reduction> allowed) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<Reduction> value = symbolizeReduction(name);
  if (!value || !llvm::is_contained(allowed, *value)) {
    InFlightDiagnostic diag = parser.emitError(loc) << "expected a reduction ";
    for (auto [i, one] : llvm::enumerate(allowed))
      diag << (i == 0                   ? "'"
               : i + 1 < allowed.size() ? ", '"
                                        : " or '")
           << stringifyReduction(one) << "'";
    return diag << ", found '" << name << "' [E_REDUCE_OP]";
  }
  reduction = ReductionAttr::get(parser.getContext(), *value);
  return success();
}

static ParseResult parseReduction(OpAsmParser &parser,
                                  ReductionAttr &reduction) {
  return parseReduction(parser, reduction, kSumOrMean);
}

static ParseResult parseAnyReduction(OpAsmParser &parser,
                                     ReductionAttr &reduction) {
  return parseReduction(parser, reduction, kReductions);
}

static void printReduction(OpAsmPrinter &printer, Operation *,
                           ReductionAttr reduction) {
  printer << stringifyReduction(reduction.getValue());
}

static void printAnyReduction(OpAsmPrinter &printer, Operation *op,
                              ReductionAttr reduction) {
  printReduction(printer, op, reduction);
}

/// Parses the name of a scatter kind.
static ParseResult parseScatter(OpAsmParser &parser, ScatterAttr &kind) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<Scatter> value = symbolizeScatter(name);
  if (!value)
    return parser.emitError(loc) << "expected 'add', 'sub', 'mul', 'div', "
                                    "'min', 'max' or 'update', found '"
                                 << name << "'";
  kind = ScatterAttr::get(parser.getContext(), *value);
  return success();
}

static void printScatter(OpAsmPrinter &printer, Operation *, ScatterAttr kind) {
  printer << stringifyScatter(kind.getValue());
}

TensorType lockstep::replica::getReducedType(Reduction reduction,
                                             TensorType type) {
  if (reduction == Reduction::Mean && type.getElementType().isInteger())
    return cast<TensorType>(type.clone(Float64Type::get(type.getContext())));
  return type;
}

/// Result types follow an arrow only if they are not the inferred types of the
/// reduction.
static ParseResult parseReducedTypes(OpAsmParser &parser,
                                     ReductionAttr reduction,
                                     ArrayRef<Type> operands,
                                     SmallVectorImpl<Type> &results) {
  if (succeeded(parser.parseOptionalArrow()))
    return parser.parseTypeList(results);
  for (Type type : operands) {
    auto tensor = dyn_cast<TensorType>(type);
    results.push_back(tensor ? getReducedType(reduction.getValue(), tensor)
                             : type);
  }
  return success();
}

static void printReducedTypes(OpAsmPrinter &printer, Operation *,
                              ReductionAttr reduction, TypeRange operands,
                              TypeRange results) {
  bool usual = llvm::all_of(llvm::zip_equal(operands, results), [&](auto pair) {
    return getReducedType(reduction.getValue(),
                          cast<TensorType>(std::get<0>(pair))) ==
           std::get<1>(pair);
  });
  if (!usual)
    printer << " -> " << results;
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
  const StrategyProperties &properties = StrategyProperties::of(getKind());
  if (properties.isSingle && getReplicas().value_or(1) != 1)
    return emitOpError("expected 1 replica for strategy '")
           << stringifyKind(getKind()) << "', found " << *getReplicas();
  if (properties.placement != Placement::Servers) {
    if (getServers())
      return emitOpError("expected no servers for strategy '")
             << stringifyKind(getKind()) << "', found " << *getServers()
             << " [E_CLUSTER]";
    if (getPartitioner())
      return emitOpError("expected no partitioner for strategy '")
             << stringifyKind(getKind()) << "', which has no servers";
  }
  if (getServers().value_or(1) < 1)
    return emitOpError("expected a server at least, found ")
           << *getServers() << " [E_CLUSTER]";
  return success();
}

/// Values of up to this many bytes may be stored in the module itself.
static constexpr int64_t kMaxInlineBytes = 4096;

LogicalResult VariableOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!type.getElementType().isIntOrFloat())
    return emitOpError("expected elements that are integers or floats, found ")
           << type.getElementType();
  if (failed(verifyAddressable(*this, "", type)))
    return failure();
  if (ElementsAttr initial = getInitialAttr()) {
    if (initial.getType() != type)
      return emitOpError("expected an initial value of type ")
             << type << ", found " << initial.getType();
    int64_t bytes =
        getElementBytes(type.getElementType()) * type.getNumElements();
    if (!initial.isSplat() && bytes > kMaxInlineBytes)
      return emitOpError("expected an initial value of at most ")
             << kMaxInlineBytes << " bytes, found " << bytes
             << "; give it by name in a safetensors file";
  }
  if (std::optional<ArrayRef<int64_t>> whole = getWholeShape()) {
    int64_t part = type.getNumElements();
    if (type.getRank() != 1 || isOnRead() ||
        llvm::any_of(*whole, [](int64_t size) { return size <= 0; }) ||
        part == 0 || ShapedType::getNumElements(*whole) < part)
      return emitOpError("expected a part of the elements of a variable "
                         "of shape [")
             << *whole << "], with one dimension and synchronization on_write, "
             << "found " << type;
  }
  return success();
}

LogicalResult VariableOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (!getColocateWith())
    return success();
  auto other = symbolTable.lookupNearestSymbolFrom<VariableOp>(
      *this, getColocateWithAttr());
  if (!other)
    return emitOpError("unknown variable ") << getColocateWithAttr();
  if (!other->isBeforeInBlock(*this))
    return emitOpError("expected to be colocated with a variable that stands "
                       "before it, found ")
           << getColocateWithAttr();
  return success();
}

//===----------------------------------------------------------------------===//
// StepOp, ReturnOp
//===----------------------------------------------------------------------===//

void StepOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(),
                     builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &result) {
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

void StepOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

Context StepOp::getOpenedContext() { return Context::Replica; }

LogicalResult ReturnOp::verify() {
  ArrayRef<Type> expected =
      cast<FunctionOpInterface>((*this)->getParentOp()).getResultTypes();
  if (TypeRange(expected) != getOperandTypes())
    return emitOpError("expected operands of types (")
           << expected << "), found (" << getOperandTypes() << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

VariableOp
lockstep::replica::lookupVariable(Operation *op,
                                  SymbolTableCollection &symbolTable) {
  return symbolTable.lookupNearestSymbolFrom<VariableOp>(
      op, op->getAttrOfType<FlatSymbolRefAttr>("variable"));
}

/// Verifies that `op` names a variable, and that the component of `valueType`
/// is the variable's type. [5.2-types]
static LogicalResult verifyVariableUse(Operation *op, Type valueType,
                                       SymbolTableCollection &symbolTable) {
  VariableOp variable = lookupVariable(op, symbolTable);
  if (!variable)
    return op->emitOpError("unknown variable ") << op->getAttr("variable");
  Type component = getComponent(valueType);
  if (variable.getType() == component)
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected a value of type ")
                            << variable.getType() << ", found " << valueType;
  auto expected = cast<RankedTensorType>(variable.getType());
  if (auto found = dyn_cast_or_null<TensorType>(component);
      found && found.getElementType() != expected.getElementType())
    diag << " [E_DTYPE_MISMATCH]";
  else if (found)
    diag << " [E_SHAPE_MISMATCH]";
  diag.attachNote(variable.getLoc()) << "the variable is declared here";
  return diag;
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyVariableUse(*this, getType(), symbolTable);
}

bool ReadOp::combinesCopies(VariableOp variable) {
  return variable.isOnRead() &&
         (getAggregated() ||
          getEnclosingContext(*this) == Context::CrossReplica);
}

ResultUniformity
ReadOp::getResultUniformity(unsigned, SymbolTableCollection &symbolTable) {
  // Cross-replica context reads the combination of all copies, replica context
  // its own copy (reference, section 5.3). [5.3-read-context]
  VariableOp variable = lookupVariable(*this, symbolTable);
  return variable && variable.isOnRead() && !combinesCopies(variable)
             ? ResultUniformity::Varying
             : ResultUniformity::FromOperands;
}

LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyVariableUse(*this, getValue().getType(), symbolTable);
}
LogicalResult
AssignAddOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyVariableUse(*this, getValue().getType(), symbolTable);
}
LogicalResult
AssignSubOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyVariableUse(*this, getValue().getType(), symbolTable);
}

//===----------------------------------------------------------------------===//
// Replica context
//===----------------------------------------------------------------------===//

ResultUniformity IdOp::getResultUniformity(unsigned, SymbolTableCollection &) {
  return ResultUniformity::Varying;
}

LogicalResult AllReduceOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, ValueRange operands, DictionaryAttr,
    OpaqueProperties properties, RegionRange, SmallVectorImpl<Type> &types) {
  Reduction reduction = properties.as<Properties *>()->reduction.getValue();
  for (Value operand : operands)
    types.push_back(
        getReducedType(reduction, cast<TensorType>(operand.getType())));
  return success();
}

bool AllReduceOp::isCompatibleReturnTypes(TypeRange inferred,
                                          TypeRange actual) {
  // Whether a mean of integers may keep its type depends on the strategy: a
  // pass checks it. [2.1-mean-int]
  return inferred.size() == actual.size() &&
         llvm::all_of(llvm::zip_equal(inferred, actual), [](auto pair) {
           auto [usual, type] = pair;
           auto tensor = dyn_cast<TensorType>(type);
           return usual == type ||
                  (tensor && getReducedType(Reduction::Mean, tensor) == usual);
         });
}

LogicalResult AllReduceOp::verify() {
  if (int64_t bytes = getBytesPerPackAttr().getInt(); bytes < 0)
    return emitOpError("expected 'bytes_per_pack' of at least 0, found ")
           << bytes << " [E_OPTION_VALUE]";
  for (auto [operand, result] : llvm::zip_equal(getOperands(), getResults()))
    if (getReduction() != Reduction::Mean &&
        operand.getType() != result.getType())
      return emitOpError("expected a ")
             << stringifyReduction(getReduction()) << " of type "
             << operand.getType() << ", found " << result.getType();
  return success();
}

ResultUniformity AllReduceOp::getResultUniformity(unsigned,
                                                  SymbolTableCollection &) {
  return ResultUniformity::Uniform;
}

LogicalResult AllGatherOp::verify() {
  if (getNumOperands() != getNumResults())
    return emitOpError("expected one result for each of ")
           << getNumOperands() << " operands, found " << getNumResults();
  for (auto [operand, result] : llvm::zip_equal(getOperands(), getResults())) {
    // Whether the value must have the axis depends on the strategy: a pass
    // checks it. [2.2-single]
    auto from = dyn_cast<RankedTensorType>(operand.getType());
    auto to = dyn_cast<RankedTensorType>(result.getType());
    if (!from || operand.getType() == result.getType())
      continue;
    if (!to || to.getRank() != from.getRank() ||
        to.getElementType() != from.getElementType())
      return emitOpError("expected a result of rank ")
             << from.getRank() << " and element type " << from.getElementType()
             << ", found " << result.getType();
    for (int64_t d = 0; d < from.getRank(); ++d)
      if (d != getAxisAttr().getInt() && from.getDimSize(d) != to.getDimSize(d))
        return emitOpError("expected dimension ")
               << d << " of the result to be as in the operand " << from
               << ", found " << to << " [E_SHAPE_MISMATCH]";
  }
  return success();
}

ResultUniformity AllGatherOp::getResultUniformity(unsigned,
                                                  SymbolTableCollection &) {
  return ResultUniformity::Uniform;
}

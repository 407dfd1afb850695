//===- ImportSteps.cpp - Convert captured functions to steps --------------===//

#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"

namespace lockstep {
#define GEN_PASS_DEF_IMPORTSTEPSPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

static constexpr StringLiteral kVariable = "replica.variable";
static constexpr StringRef kArgumentRoles[] = {kVariable, "replica.batch",
                                               "replica.scalar"};
static constexpr StringRef kResultRoles[] = {kVariable, "replica.metric",
                                             "replica.sum", "replica.count",
                                             "replica.result"};

namespace {

/// Imports all functions of a module.
class StepImporter {
public:
  explicit StepImporter(ModuleOp module)
      : module(module), builder(OpBuilder::atBlockBegin(module.getBody())) {
    // Private functions are parts of steps, which call them.
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPublic())
        functions.push_back(function);
  }

  LogicalResult import();

private:
  LogicalResult verifyFunction(func::FuncOp function);
  LogicalResult declareVariables(func::FuncOp function);
  LogicalResult declareVariable(Location loc, StringAttr name, Type type);
  void createStep(func::FuncOp function);
  void createReturn(func::ReturnOp returnOp,
                    ArrayRef<FlatSymbolRefAttr> assigned);
  /// The variable named `name`; null if `name` is null.
  FlatSymbolRefAttr getVariable(StringAttr name) {
    return name
               ? FlatSymbolRefAttr::get(variables.lookup(name).getSymNameAttr())
               : FlatSymbolRefAttr();
  }

  ModuleOp module;
  /// Declares variables at the start of the module, in the order in which
  /// functions name them.
  OpBuilder builder;
  SmallVector<func::FuncOp> functions;
  /// Variables by their names in files.
  llvm::MapVector<StringAttr, replica::VariableOp> variables;
};

} // namespace

static func::ReturnOp getReturn(func::FuncOp function) {
  return cast<func::ReturnOp>(function.getBody().front().getTerminator());
}

/// The location at which the user's program computes result `index`.
static Location getResultLoc(func::FuncOp function, unsigned index) {
  Location loc = getReturn(function).getOperand(index).getLoc();
  return isa<UnknownLoc>(loc) ? function.getLoc() : loc;
}

/// Checks that an argument or result has exactly one of `roles`, with a name
/// that no other one in this role has.
static LogicalResult
verifyRole(Location loc, const Twine &what, DictionaryAttr attributes,
           ArrayRef<StringRef> roles,
           llvm::DenseSet<std::pair<StringRef, Attribute>> &seen) {
  NamedAttrList found;
  for (StringRef role : roles)
    if (attributes && attributes.get(role))
      found.append(role, attributes.get(role));
  if (found.getAttrs().size() != 1) {
    InFlightDiagnostic diag = emitError(loc)
                              << what << " expected one of '"
                              << llvm::join(roles, "', '") << "', found ";
    return found.empty() ? diag << "none" : diag << found.getAttrs().size();
  }
  NamedAttribute role = found.getAttrs().front();
  auto name = dyn_cast<StringAttr>(role.getValue());
  if (!name || name.empty())
    return emitError(loc) << what << " expected '" << role.getName().getValue()
                          << "' to be a non-empty string, found "
                          << role.getValue();
  if (!seen.insert({role.getName().getValue(), name}).second)
    return emitError(loc) << what << " has the same '"
                          << role.getName().getValue()
                          << "' as another one: " << name;
  return success();
}

LogicalResult StepImporter::verifyFunction(func::FuncOp function) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitError() << "cannot import '@" << function.getName()
                                << "': expected a body of one block";
  bool ok = true;
  llvm::DenseSet<std::pair<StringRef, Attribute>> seenArguments, seenResults;
  for (BlockArgument argument : function.getArguments())
    ok &= succeeded(verifyRole(argument.getLoc(),
                               "argument " + Twine(argument.getArgNumber()) +
                                   " of '@" + function.getName() + "'",
                               function.getArgAttrDict(argument.getArgNumber()),
                               kArgumentRoles, seenArguments));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    ok &= succeeded(
        verifyRole(getResultLoc(function, i),
                   "result " + Twine(i) + " of '@" + function.getName() + "'",
                   function.getResultAttrDict(i), kResultRoles, seenResults));
  return success(ok);
}

/// Declares a variable, or checks it against the declaration of another
/// function.
LogicalResult StepImporter::declareVariable(Location loc, StringAttr name,
                                            Type type) {
  if (replica::VariableOp variable = variables.lookup(name)) {
    if (variable.getType() == type)
      return success();
    InFlightDiagnostic diag = emitError(loc)
                              << "variable " << name << " expected type "
                              << variable.getType() << ", found " << type;
    diag.attachNote(variable.getLoc()) << "the variable comes from here";
    return diag;
  }
  // A variable may have the name of a function, such as 'step': then its symbol
  // gets a suffix, and files keep the name.
  MLIRContext *context = module.getContext();
  StringAttr symbol = name;
  for (unsigned i = 0; module.lookupSymbol(symbol); ++i)
    symbol = StringAttr::get(context, name.getValue() + "_" + Twine(i));
  variables[name] = replica::VariableOp::create(
      builder, loc, symbol, TypeAttr::get(type),
      replica::SynchronizationAttr::get(context,
                                        replica::Synchronization::OnWrite),
      replica::AggregationAttr::get(context, replica::Aggregation::Uniform),
      /*initial=*/ElementsAttr(),
      getElementTypeOrSelf(type).isUnsignedInteger() ? builder.getUnitAttr()
                                                     : UnitAttr(),
      symbol == name ? StringAttr() : name,
      /*colocate_with=*/FlatSymbolRefAttr(),
      /*whole_shape=*/DenseI64ArrayAttr());
  return success();
}

LogicalResult StepImporter::declareVariables(func::FuncOp function) {
  bool ok = true;
  for (BlockArgument argument : function.getArguments())
    if (auto name = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), kVariable))
      ok &= succeeded(
          declareVariable(argument.getLoc(), name, argument.getType()));
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (auto name = function.getResultAttrOfType<StringAttr>(i, kVariable))
      ok &= succeeded(declareVariable(getResultLoc(function, i), name, type));
  return success(ok);
}

/// Replaces the return of a function: results that are variables (`assigned`
/// has their names) are assigned, the others returned.
void StepImporter::createReturn(func::ReturnOp returnOp,
                                ArrayRef<FlatSymbolRefAttr> assigned) {
  OpBuilder atReturn(returnOp);
  SmallVector<Value> returned;
  for (auto [value, variable] :
       llvm::zip_equal(returnOp.getOperands(), assigned)) {
    if (!variable) {
      returned.push_back(value);
      continue;
    }
    // A variable that the step returns unchanged is not assigned.
    auto read = value.getDefiningOp<replica::ReadOp>();
    if (!read || read.getVariableAttr() != variable)
      replica::AssignOp::create(
          atReturn,
          isa<UnknownLoc>(value.getLoc()) ? returnOp.getLoc() : value.getLoc(),
          variable, value);
  }
  replica::ReturnOp::create(atReturn, returnOp.getLoc(), returned);
  returnOp.erase();
}

void StepImporter::createStep(func::FuncOp function) {
  Block &body = function.getBody().front();
  OpBuilder atBody = OpBuilder::atBlockBegin(&body);
  SmallVector<Attribute> argumentAttrs, resultAttrs;
  SmallVector<Type> argumentTypes, resultTypes;
  BitVector isVariable(body.getNumArguments());
  for (BlockArgument argument : body.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (auto name = function.getArgAttrOfType<StringAttr>(i, kVariable)) {
      isVariable.set(i);
      if (!argument.use_empty())
        argument.replaceAllUsesWith(replica::ReadOp::create(
            atBody, argument.getLoc(), argument.getType(), getVariable(name)));
      continue;
    }
    argumentTypes.push_back(argument.getType());
    argumentAttrs.push_back(function.getArgAttrDict(i));
  }
  body.eraseArguments(isVariable);

  SmallVector<FlatSymbolRefAttr> assigned;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    assigned.push_back(
        getVariable(function.getResultAttrOfType<StringAttr>(i, kVariable)));
    if (assigned.back())
      continue;
    resultTypes.push_back(type);
    resultAttrs.push_back(function.getResultAttrDict(i));
  }
  createReturn(getReturn(function), assigned);

  OpBuilder atFunction(function);
  auto step = replica::StepOp::create(
      atFunction, function.getLoc(), function.getName(),
      atFunction.getFunctionType(argumentTypes, resultTypes));
  if (!argumentAttrs.empty())
    step.setArgAttrsAttr(atFunction.getArrayAttr(argumentAttrs));
  if (!resultAttrs.empty())
    step.setResAttrsAttr(atFunction.getArrayAttr(resultAttrs));
  step.getBody().takeBody(function.getBody());
  function.erase();
}

LogicalResult StepImporter::import() {
  for (auto variable : module.getOps<replica::VariableOp>())
    variables[builder.getStringAttr(variable.getStoredName())] = variable;
  bool ok = true;
  for (func::FuncOp function : functions)
    ok &= succeeded(verifyFunction(function)) &&
          succeeded(declareVariables(function));
  if (!ok)
    return failure();
  for (func::FuncOp function : functions)
    createStep(function);
  return success();
}

namespace {

struct ImportStepsPass : lockstep::impl::ImportStepsPassBase<ImportStepsPass> {
  void runOnOperation() override {
    if (failed(StepImporter(getOperation()).import()))
      signalPassFailure();
  }
};

} // namespace

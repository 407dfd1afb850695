//===- VariableStatements.cpp - reading and writing variables -------------===//

#include "passes/Lower/LowerSlices.h"
#include "passes/Passes.h"
#include "test/conformance/driver/FrontEnd.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace lockstep::conformance::driver {

const FrontEnd::Handlers &FrontEnd::variableHandlers() {
  static const Handlers handlers = {
      {"assign", &FrontEnd::assignStatement},
      {"assign_add", &FrontEnd::assignStatement},
      {"assign_sub", &FrontEnd::assignStatement},
      {"read", &FrontEnd::readStatement},
      {"value", &FrontEnd::readStatement},
      {"read_var", &FrontEnd::readStatement},
      {"handle", &FrontEnd::handleStatement},
      {"scatter_add", &FrontEnd::scatterStatement},
      {"scatter_sub", &FrontEnd::scatterStatement},
      {"scatter_mul", &FrontEnd::scatterStatement},
      {"scatter_div", &FrontEnd::scatterStatement},
      {"scatter_min", &FrontEnd::scatterStatement},
      {"scatter_max", &FrontEnd::scatterStatement},
      {"scatter_update", &FrontEnd::scatterStatement},
      {"indexed_slices", &FrontEnd::indexedSlicesStatement},
  };
  return handlers;
}

static std::string nameOf(const Json &statement) {
  return statement.at("op").get<std::string>();
}

//===----------------------------------------------------------------------===//
// Variables and their values
//===----------------------------------------------------------------------===//

Leaf FrontEnd::addVariable(VariableSpec spec, bool inScope) {
  Variable variable;
  variable.symbol = spec.name == kProgramName || spec.name == "strategy"
                        ? spec.name + ".variable"
                        : spec.name;
  variable.type = toType(&context, spec.initial);
  variable.identity = nextIdentity++;
  variable.inScope = inScope;
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto op = replica::VariableOp::create(
      builder, location(), variable.symbol, variable.type, spec.synchronization,
      spec.aggregation, toAttribute(&context, spec.initial),
      /*is_unsigned=*/false, /*path=*/nullptr, /*colocate_with=*/nullptr,
      /*whole_shape=*/nullptr);
  if (variable.symbol != spec.name)
    op.setPath(spec.name);
  variable.spec = std::move(spec);
  variables.push_back(std::move(variable));
  checkDeclarations();
  return variableLeaf(variables.size() - 1);
}

/// Errors of the strategy about a variable are reported before errors about its
/// uses.
void FrontEnd::checkDeclarations() {
  OwningOpRef<ModuleOp> declarations = module->clone();
  std::string found;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (found.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      found = diagnostic.str();
    return success();
  });
  PassManager pm(&context);
  pm.addPass(createSetReplicasPass());
  pm.addPass(createApplyStrategyPass());
  if (failed(pm.run(*declarations)))
    throw CaseError(found);
}

Leaf FrontEnd::variableLeaf(size_t index) const {
  Leaf leaf;
  leaf.kind = Leaf::Kind::Variable;
  leaf.variable = index;
  leaf.identity = variables[index].identity;
  return leaf;
}

Leaf FrontEnd::variableOf(const Json &statement, const char *field) {
  Leaf leaf = leafOf(statement, field);
  if (!leaf.isVariable())
    refuse("E_ARG_TYPE", "'{}': expected a variable for '{}'",
           nameOf(statement), field);
  return leaf;
}

bool FrontEnd::hasOwnCopies(const Variable &variable) const {
  return variable.spec.synchronization == replica::Synchronization::OnRead &&
         one.strategy.properties().honoursOnRead;
}

Leaf FrontEnd::copiesOf(const Leaf &variable) {
  Leaf whole = variable;
  whole.component.reset();
  return isReplicaContext() ? read(whole)
                            : run([&]() -> Object { return read(whole); }).leaf;
}

Leaf FrontEnd::read(const Leaf &leaf) {
  if (leaf.component && one.strategy.localReplicas() == 1) {
    Leaf whole = leaf;
    whole.component.reset();
    return hasOwnCopies(variables[leaf.variable]) ? copiesOf(whole)
                                                  : read(whole);
  }
  if (leaf.component) {
    Leaf copy = copiesOf(leaf);
    copy.component = leaf.component;
    return one.strategy.workers > 1 ? copy : materialize(copy);
  }
  const Variable &variable = variables[leaf.variable];
  Leaf result;
  if (frame->updated == leaf.variable) {
    result = fresh(frame->current);
  } else if ((frame->kind == Frame::Kind::Update ||
              frame->kind == Frame::Kind::NonSlotUpdate) &&
             !frame->assigned.contains(leaf.variable)) {
    // Another variable is read outside of the update, each copy's own component
    // if there are several.
    Frame &inner = *std::exchange(frame, frame->parent);
    Leaf outside = hasOwnCopies(variable) ? copiesOf(leaf) : read(leaf);
    frame = &inner;
    result = fresh(enter(inner, outside, /*isArgument=*/true).value);
  } else {
    result = fresh(replica::ReadOp::create(frame->builder, location(),
                                           variable.type, variable.symbol));
  }
  record({leaf}, {result}, [](const Gradients &upstream) { return upstream; });
  return result;
}

Object FrontEnd::readStatement(const Json &statement) {
  Leaf variable = variableOf(statement, "var");
  if (isReplicaContext() && nameOf(statement) == "read_var" &&
      hasOwnCopies(variables[variable.variable]))
    refuse("E_CONTEXT",
           "'read_var' of copies that differ needs cross-replica context");
  return read(variable);
}

Object FrontEnd::handleStatement(const Json &statement) {
  Leaf variable = variableOf(statement, "var");
  bool hasCopies = !variable.component && one.strategy.properties().placement ==
                                              replica::Placement::Mirrored;
  if (hasCopies && !isReplicaContext() && !frame->updated)
    refuse("E_CONTEXT", "a variable with several copies has no handle in "
                        "cross-replica context");
  Leaf handle;
  handle.kind = Leaf::Kind::Operation;
  return handle;
}

//===----------------------------------------------------------------------===//
// Assignments
//===----------------------------------------------------------------------===//

Object FrontEnd::writeComponent(const Json &statement, const Leaf &target,
                                const Leaf &given) {
  const Variable &variable = variables[target.variable];
  std::string operation = nameOf(statement);
  if (isReplicaContext() || frame->updated)
    unsupported(
        "'{}' of one component of a variable outside of cross-replica context",
        operation);
  if (!hasOwnCopies(variable))
    refuse("E_PER_REPLICA_IN_UPDATE",
           "'{}' of one copy of variable '{}' alone: its copies would differ",
           operation, variable.spec.name);
  Leaf value = given.isSlices() && operation.starts_with("scatter_")
                   ? materialize(given)
                   : tensorOf(given, variable.type.getElementType());
  run([&]() -> Object {
    Leaf inside = localize(value, *frame),
         old = read(variableLeaf(target.variable));
    SmallVector<int64_t> owners;
    for (int64_t worker = 0; worker < one.strategy.workers; ++worker)
      owners.push_back(worker * one.strategy.localReplicas() +
                       *target.component);
    auto type = RankedTensorType::get({}, frame->builder.getI1Type());
    Value isOwner = tensor::FromElementsOp::create(frame->builder, location(),
                                                   type, conditionOf(owners));
    Value changed = math().select(
        isOwner, changedBy(operation, variable, old.value, inside), old.value);
    replica::AssignOp::create(frame->builder, location(), variable.symbol,
                              changed);
    return {};
  });
  bool readsValue = statement.value("read_value", true) &&
                    !statement.value("out", Json()).is_null();
  return readsValue ? Object(read(target)) : Object();
}

Value FrontEnd::changedBy(const std::string &operation,
                          const Variable &variable, Value old,
                          const Leaf &value) {
  if (value.isSlices())
    return scatterRows(
        frame->builder, location(),
        *replica::symbolizeScatter(operation.substr(strlen("scatter_"))), old,
        value.indices, value.value, math().size(value.indices, 0));
  auto type = dyn_cast<RankedTensorType>(value.value.getType());
  if (!type || type.getElementType() != variable.type.getElementType())
    refuse("E_DTYPE_MISMATCH",
           "variable '{}': another element type is assigned",
           variable.spec.name);
  if (failed(verifyCompatibleShape(type, variable.type)))
    refuse("E_SHAPE_MISMATCH", "variable '{}': another shape is assigned",
           variable.spec.name);
  Value given = value.value;
  if (type != variable.type)
    given = tensor::CastOp::create(frame->builder, location(), variable.type,
                                   given);
  return operation == "assign"
             ? given
             : math().binary(operation == "assign_add" ? Binary::Add
                                                       : Binary::Sub,
                             old, given);
}

void FrontEnd::assignCurrent(const std::string &operation,
                             const Variable &variable, const Leaf &value) {
  frame->current = changedBy(operation, variable, frame->current, value);
}

Object FrontEnd::assignStatement(const Json &statement) {
  std::string operation = nameOf(statement);
  requireOwnStrategy(operation);
  Leaf target = variableOf(statement, "var");
  const Variable &variable = variables[target.variable];
  Leaf given = leafOf(statement, "value");
  if (target.component && (hasSeveralReplicas() || hasOwnCopies(variable)))
    return writeComponent(statement, target, given);
  target.component.reset();
  // If there is one copy, the value of replica 0 is written.
  if (!isReplicaContext() && !frame->updated)
    given = updateArguments({given}).front().leaf;
  Type element = variable.type.getElementType();
  bool readsValue = statement.value("read_value", true);
  if (frame->updated == target.variable) {
    assignCurrent(operation, variable, tensorOf(given, element));
  } else {
    bool isSummed = isReplicaContext() && hasSeveralReplicas() &&
                    !hasOwnCopies(variable) &&
                    variable.spec.aggregation == replica::Aggregation::Sum;
    if (isSummed && given.isVariable() &&
        !hasOwnCopies(variables[given.variable]))
      refuse("E_NON_DISTRIBUTED_SUM",
             "a sum of the variable '{}' over replicas",
             variables[given.variable].spec.name);
    if (isReplicaContext() && !variable.inScope && hasSeveralReplicas())
      unsupported("assignment in replica context to a variable of no strategy");
    // If each replica assigns its own copy, the operand is one value, else a
    // distributed one.
    bool isOne = isReplicaContext() || given.isSlices() ||
                 (given.isVariable() && hasOwnCopies(variable));
    Leaf value =
        isOne ? tensorOf(given, element) : distributedOf(given, element);
    auto create = [&](auto op) {
      decltype(op)::create(frame->builder, location(), variable.symbol,
                           localize(value, *frame).value);
    };
    auto assign = [&](const std::vector<Object> &) -> Object {
      if (operation == "assign")
        create(replica::AssignOp());
      else if (operation == "assign_add")
        create(replica::AssignAddOp());
      else
        create(replica::AssignSubOp());
      return {};
    };
    // The mean of one tensor that all replicas share is that tensor, of
    // integers too.
    bool isShared = isReplicaContext() && hasSeveralReplicas() &&
                    !hasOwnCopies(variable) && value.spread == Spread::Plain &&
                    variable.spec.aggregation == replica::Aggregation::Mean &&
                    !isa<FloatType>(element) && given.isTensor();
    isShared ? mergeCall({}, assign) : assign({});
    frame->assigned.insert(target.variable);
    // The value that the user gets has to be combined, even if nothing is done
    // with it.
    bool cannotRead = hasOwnCopies(variable) &&
                      variable.spec.aggregation == replica::Aggregation::None;
    if (!isReplicaContext() && readsValue && cannotRead) {
      if (deferredError.empty())
        deferredError = fmt::format("'{}' gives the value of '{}', whose "
                                    "copies nothing combines [E_AGG_NONE]",
                                    operation, variable.spec.name);
      return {};
    }
  }
  return readsValue ? writtenValue(statement, target) : Object();
}

Object FrontEnd::writtenValue(const Json &statement, const Leaf &target) {
  if (!statement.contains("out") || statement.at("out").is_null())
    return {};
  Leaf value = read(target);
  if (frame->kind != Frame::Kind::Program && frame->kind != Frame::Kind::Merge)
    return value;
  auto [type, spread] = hasOwnCopies(variables[target.variable])
                            ? std::pair(value.value.getType(), Spread::Plain)
                            : mirrored(value.value.getType());
  if (spread == Spread::Plain)
    return value;
  return makeTensor(replica::BroadcastToOp::create(frame->builder, location(),
                                                   type, value.value,
                                                   FlatSymbolRefAttr()),
                    spread);
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

Object FrontEnd::indexedSlicesStatement(const Json &statement) {
  auto partOf = [&](const char *field) {
    Leaf leaf = leafOf(statement, field);
    return isReplicaContext() ? tensorOf(leaf) : distributedOf(leaf);
  };
  Leaf slices = partOf("values"), indices = partOf("indices");
  if (!isReplicaContext() && slices.spread != indices.spread)
    refuse("E_ARG_TYPE", "expected values and indices of the same replicas");
  slices.identity = nextIdentity++;
  if (slices.spread == Spread::Plain)
    slices.spread = indices.spread;
  slices.indices = indices.value;
  if (const Json shape = statement.value("dense_shape", Json());
      !shape.is_null()) {
    const Json &constant = shape.is_object() && shape.contains("const")
                               ? shape.at("const")
                               : shape;
    slices.denseShape = (isTensor(constant) ? constant.at("data") : constant)
                            .get<std::vector<int64_t>>();
  }
  return slices;
}

Object FrontEnd::scatterStatement(const Json &statement) {
  requireOwnStrategy(nameOf(statement));
  Leaf target = variableOf(statement, "var");
  const Variable &variable = variables[target.variable];
  Leaf slices = leafOf(statement, "slices");
  if (!slices.isSlices())
    refuse("E_ARG_TYPE", "'{}': expected slices", nameOf(statement));
  if (target.component && (hasSeveralReplicas() || hasOwnCopies(variable)))
    return writeComponent(statement, target, slices);
  bool isCopy = target.component.has_value();
  target.component.reset();
  if (!isReplicaContext() && !frame->updated)
    slices = updateArguments({slices}).front().leaf;
  slices = materialize(slices);
  replica::Scatter kind =
      *replica::symbolizeScatter(nameOf(statement).substr(strlen("scatter_")));
  bool isOrdered = kind == replica::Scatter::Min ||
                   kind == replica::Scatter::Max ||
                   kind == replica::Scatter::Update;
  bool isCombined = variable.spec.aggregation == replica::Aggregation::Sum ||
                    variable.spec.aggregation == replica::Aggregation::Mean;
  bool hasCopies =
      one.strategy.properties().placement == replica::Placement::Mirrored &&
      variable.inScope;
  // The class of such variables has no other scatters, in whatever context they
  // are called.
  if (frame->updated != target.variable && !isCopy && hasCopies &&
      !hasOwnCopies(variable) && isOrdered && isCombined)
    refuse("E_SCATTER_AGG", "'{}' into variable '{}', whose aggregation adds",
           nameOf(statement), variable.spec.name);
  if (frame->updated == target.variable) {
    assignCurrent(nameOf(statement), variable, slices);
  } else {
    replica::ScatterOp::create(frame->builder, location(), kind,
                               variable.symbol, slices.indices, slices.value);
    frame->assigned.insert(target.variable);
  }
  return writtenValue(statement, target);
}

} // namespace lockstep::conformance::driver

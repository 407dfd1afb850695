//===- Scopes.cpp - Where variables come from, and scopes -----------------===//

#include "test/conformance/driver/FrontEnd.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace lockstep::conformance::driver {

const FrontEnd::Handlers &FrontEnd::scopeHandlers() {
  static const Handlers handlers = {
      {"variable", &FrontEnd::variableStatement},
      {"component", &FrontEnd::componentStatement},
      {"variable_created_in_scope", &FrontEnd::createdInScopeStatement},
      {"value_container_is", &FrontEnd::containerIsStatement},
      {"colocate_vars_with", &FrontEnd::colocateStatement},
      {"scope", &FrontEnd::scopeStatement},
      {"other_scope", &FrontEnd::otherScopeStatement},
  };
  return handlers;
}

std::optional<Json> FrontEnd::initialValueOf(const Json &init) {
  if (isTensor(init))
    return init;
  if (init.is_object() && init.contains("const"))
    return init.at("const");
  const Object *object =
      init.is_string() ? find(init.get<std::string>()) : nullptr;
  Object value = object ? *object : operand(init);
  if (value.isLeaf() && value.leaf.isHost() && value.leaf.host.size() == 1) {
    const Json &number = value.leaf.host.front();
    const char *type = number.is_boolean()          ? "bool"
                       : number.is_number_integer() ? "i32"
                                                    : "f32";
    return Json{{"dtype", type}, {"shape", Json::array()}, {"data", {number}}};
  }
  if (value.isLeaf() && value.leaf.isTensor())
    if (auto constant = constants.find(value.leaf.value.getAsOpaquePointer());
        constant != constants.end())
      return writeTensor(constant->second);
  return std::nullopt;
}

void FrontEnd::initialize(const Variable &variable, const Leaf &value) {
  auto assign = [&](const Leaf &initial) {
    replica::AssignOp::create(frame->builder, location(), variable.symbol,
                              localize(initial, *frame).value);
    return Object();
  };
  if (!isReplicaContext() || !hasSeveralReplicas()) {
    // Each replica assigns its own copy of an on_read variable: an assignment
    // in cross-replica context would divide the value among the copies.
    hasOwnCopies(variable) && !isReplicaContext()
        ? run([&] { return assign(value); })
        : assign(value);
    return;
  }
  Leaf zeros = zerosLike(value);
  auto type = RankedTensorType::get({}, frame->builder.getI1Type());
  Value isFirst = tensor::FromElementsOp::create(frame->builder, location(),
                                                 type, conditionOf({0}));
  Leaf first =
      allReduce(replica::Reduction::Sum,
                {fresh(math().select(isFirst, value.value, zeros.value))}, 0)
          .front();
  if (hasOwnCopies(variable))
    assign(first);
  else
    mergeCall({}, [&](const std::vector<Object> &) { return assign(first); });
}

Object FrontEnd::variableStatement(const Json &statement) {
  Json out = statement.value("out", Json());
  std::string name =
      statement.value("name", out.is_string() ? out.get<std::string>()
                                              : std::string("variable"));
  // Replicas that create a variable in sequence share it by name.
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].spec.name == name)
      return variableLeaf(i);
  bool inScope = !isOutside() || one.strategy.properties().isImplicit;
  Json described = statement;
  // Without a strategy there is nothing to synchronize.
  if (!inScope)
    for (const char *ofStrategy : {"synchronization", "aggregation"})
      described.erase(ofStrategy);
  std::optional<Json> known = initialValueOf(statement.at("init"));
  Leaf computed;
  if (!known) {
    computed = tensorOf(leafOf(statement, "init"));
    auto type = dyn_cast<RankedTensorType>(computed.value.getType());
    if (!type || !type.hasStaticShape())
      unsupported("initial value {} whose shape is not known",
                  statement.at("init").dump());
    known = writeTensor(zerosOf(type));
  }
  described["init"] = *known;
  Leaf leaf = addVariable(readVariable(described, name), inScope);
  if (computed.isTensor())
    initialize(variables[leaf.variable], computed);
  if (!out.is_string())
    scope->names[name] = leaf;
  return leaf;
}

Object FrontEnd::componentStatement(const Json &statement) {
  Leaf leaf = leafOf(statement, statement.contains("var") ? "var" : "value");
  size_t index = 0;
  for (const char *field : {"index", "replica", "id", "i"})
    if (statement.contains(field))
      index = statement.at(field).get<size_t>();
  Object components = localResults(leaf);
  if (index >= components.items.size())
    refuse("E_OUT_OF_RANGE", "expected a component below {}, found {}",
           components.items.size(), index);
  return components.items[index];
}

Object FrontEnd::createdInScopeStatement(const Json &statement) {
  Leaf leaf = leafOf(statement, "var");
  return makeHost(leaf.isVariable() && (variables[leaf.variable].inScope ||
                                        one.strategy.properties().isImplicit));
}

Object FrontEnd::containerIsStatement(const Json &statement) {
  auto fieldOf = [&](std::initializer_list<const char *> names) {
    for (const char *name : names)
      if (statement.contains(name))
        return leafOf(statement, name);
    unsupported("'value_container_is' without {}", *names.begin());
  };
  Leaf value = fieldOf({"value", "a"}),
       container = fieldOf({"var", "container", "b"});
  if (value.isVariable() && container.isVariable())
    return makeHost(value.variable == container.variable &&
                    !container.component);
  return makeHost(value.kind == container.kind &&
                  value.identity == container.identity);
}

Object FrontEnd::colocateStatement(const Json &statement) {
  requireOwnStrategy("colocate_vars_with");
  if (isReplicaContext() || (isOutside() && !isDefaultContext()))
    refuse("E_CONTEXT", "'colocate_vars_with' outside of the strategy's scope");
  Leaf leaf = variableOf(statement, "var");
  if (!variables[leaf.variable].inScope)
    refuse("E_ARG_TYPE",
           "'colocate_vars_with': expected a variable of this strategy");
  execute(statement.value("body", Json::array()));
  return {};
}

Object FrontEnd::scopeStatement(const Json &statement) {
  if (isReplicaContext())
    refuse("E_CONTEXT", "the strategy's scope in replica context");
  requireOwnStrategy("scope");
  ++scopeDepth;
  execute(statement.value("body", Json::array()));
  --scopeDepth;
  return {};
}

Object FrontEnd::otherScopeStatement(const Json &statement) {
  if (!isOutside())
    refuse("E_MIXED_STRATEGY",
           "the scope of another strategy inside the scope of this one");
  ++otherScopeDepth;
  execute(statement.value("body", Json::array()));
  --otherScopeDepth;
  return {};
}

} // namespace lockstep::conformance::driver

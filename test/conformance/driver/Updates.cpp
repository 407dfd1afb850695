//===- Updates.cpp - update and update_non_slot ---------------------------===//

#include "test/conformance/driver/FrontEnd.h"

using namespace mlir;

namespace lockstep::conformance::driver {

const FrontEnd::Handlers &FrontEnd::updateHandlers() {
  static const Handlers handlers = {
      {"update", &FrontEnd::updateStatement},
      {"update_non_slot", &FrontEnd::updateNonSlotStatement},
  };
  return handlers;
}

/// With `group: false` every copy's result, as a tuple.
Object FrontEnd::groupUpdates(const Json &statement, const Object &results) {
  if (!statement.contains("group") || statement.at("group").is_null() ||
      statement.at("group").get<bool>())
    return results;
  return mapLeaves(results,
                   [&](const Leaf &leaf) { return localResults(leaf); });
}

/// If a variable has one copy, it is updated by the value of replica 0.
std::vector<Object> FrontEnd::updateArguments(std::vector<Object> arguments) {
  if (!one.strategy.properties().hasOwners())
    return arguments;
  for (Object &argument : arguments)
    argument = mapLeaves(argument, [&](const Leaf &leaf) -> Object {
      bool isDistributed = (leaf.isTensor() && leaf.spread != Spread::Plain) ||
                           leaf.isDiffering();
      return isDistributed ? materialize(localResults(leaf).items.front().leaf)
                           : leaf;
    });
  return arguments;
}

Object FrontEnd::updateVariable(const Leaf &variable,
                                std::vector<Object> arguments,
                                const Json &statement) {
  arguments = updateArguments(std::move(arguments));
  const Variable &updated = variables[variable.variable];
  Frame &inner = open(Frame::Kind::Update);
  inner.updated = variable.variable;
  inner.current = inner.region->front().addArgument(updated.type, location());
  for (Object &argument : arguments)
    argument = enter(inner, argument);
  arguments.insert(arguments.begin(), Object(variableLeaf(variable.variable)));
  Object returned = call(statement, "fn", std::move(arguments));
  close(inner);

  NamedAttribute symbol(StringAttr::get(&context, "variable"),
                        FlatSymbolRefAttr::get(&context, updated.symbol));
  Object results =
      finish(inner, returned, replica::UpdateOp::getOperationName(), symbol,
             inner.current, [&](Type type, Spread) -> std::pair<Type, Spread> {
               if (hasOwnCopies(updated) && hasSeveralReplicas())
                 return {perReplica(type), Spread::Mirrored};
               return mirrored(type);
             });
  return groupUpdates(statement, results);
}

Object FrontEnd::updateStatement(const Json &statement) {
  requireOwnStrategy("update");
  Leaf variable = variableOf(statement, "var");
  if ((!variables[variable.variable].inScope || variable.component) &&
      one.strategy.properties().placement == replica::Placement::Mirrored)
    refuse("E_ARG_TYPE", "'update': expected a variable of this strategy");
  std::vector<Object> arguments = listOf(statement, "args");
  // An argument that is a variable with copies of its own is a component for
  // each copy.
  auto update = [&](std::vector<Object> all) {
    for (Object &argument : all)
      argument = mapLeaves(argument, [&](const Leaf &leaf) -> Object {
        return leaf.isVariable() && hasOwnCopies(variables[leaf.variable])
                   ? Object(copiesOf(leaf))
                   : Object(leaf);
      });
    return updateVariable(variable, std::move(all), statement);
  };
  if (isReplicaContext())
    return mergeCall(arguments, update);
  return update(std::move(arguments));
}

Object FrontEnd::updateNonSlotStatement(const Json &statement) {
  requireOwnStrategy("update_non_slot");
  std::vector<Object> arguments = updateArguments(listOf(statement, "args"));
  Frame &inner = open(Frame::Kind::NonSlotUpdate);
  for (Object &argument : arguments)
    argument = enter(inner, argument);
  Object returned = call(statement, "fn", std::move(arguments));
  close(inner);
  Object results =
      finish(inner, returned, replica::UpdateNonSlotOp::getOperationName(), {},
             {}, [&](Type type, Spread) { return mirrored(type); });
  return groupUpdates(statement, results);
}

} // namespace lockstep::conformance::driver

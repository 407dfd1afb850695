//===- FrontEnd.cpp - Statements and operands -----------------------------===//

#include "test/conformance/driver/FrontEnd.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace lockstep::conformance::driver {

FrontEnd::FrontEnd(const Case &one, MLIRContext &context)
    : one(one), context(context) {}
FrontEnd::~FrontEnd() = default;

Location FrontEnd::location() const {
  return FileLineColLoc::get(&context, one.name, line, column);
}

void FrontEnd::execute(const Json &statements) {
  for (const Json &statement : statements) {
    ++column;
    executeStatement(statement);
  }
}

void FrontEnd::executeStatement(const Json &statement) {
  Object value = executeOperation(statement);
  if (statement.contains("out"))
    bind(statement.at("out"), std::move(value));
}

Object FrontEnd::executeOperation(const Json &statement) {
  std::string name = statement.at("op").get<std::string>();
  // A replica context that was kept ends with the function that it belongs to.
  if (statement.value("use_saved_ctx", false) &&
      savedContext != std::optional<const Frame *>(frame))
    refuse("E_CONTEXT", "'{}' by a replica context that has ended", name);
  recordRendezvous(statement);
  for (const Handlers *handlers :
       {&crossReplicaHandlers(), &updateHandlers(), &replicaHandlers(),
        &variableHandlers(), &scopeHandlers(), &controlFlowHandlers()})
    if (auto found = handlers->find(name); found != handlers->end()) {
      auto handle = [&]() -> Object {
        return (this->*found->second)(statement);
      };
      if (isInUpdate() && handlers == &crossReplicaHandlers() &&
          isAboutOutside(statement)) {
        Frame &inner = *std::exchange(frame, frame->parent);
        Object result = handle();
        frame = &inner;
        // The function is executed once for each copy: its results are
        // different objects each time.
        bool computes = name != "local_results";
        return mapLeaves(enter(inner, result), [&](const Leaf &leaf) {
          Leaf each = leaf;
          if (computes && each.isTensor()) {
            each.spread = frame->fresh;
            each.identity = nextIdentity++;
          }
          return Object(each);
        });
      }
      std::optional<Object> ofEach = name == "indexed_slices"
                                         ? computeForEach(statement, handle)
                                         : std::nullopt;
      return ofEach ? *ofEach : handle();
    }
  auto found = mathHandlers().find(name);
  if (found == mathHandlers().end())
    unsupported("operation '{}'", name);
  auto compute = [&]() -> Object { return (this->*found->second)(statement); };
  if (std::optional<Object> ofEach = computeForEach(statement, compute))
    return *ofEach;
  return computesPerWorker(statement) ? run(compute) : compute();
}

bool FrontEnd::isAboutOutside(const Json &statement) const {
  bool isInside = false, hasReplicas = false;
  std::function<void(const Json &)> visit = [&](const Json &json) {
    const Object *found =
        json.is_string() ? find(json.get<std::string>()) : nullptr;
    auto look = [&](const Leaf &leaf) {
      isInside |=
          leaf.isTensor()
              ? leaf.frame == frame
              : leaf.isVariable() && (frame->updated == leaf.variable ||
                                      frame->assigned.contains(leaf.variable));
      hasReplicas |=
          leaf.isTensor()
              ? leaf.spread != Spread::Plain
              : leaf.isVariable() && hasOwnCopies(variables[leaf.variable]);
    };
    if (found)
      forEachLeaf(*found, [&](const Leaf &leaf) { forEachPart(leaf, look); });
    if (json.is_structured())
      for (const Json &inner : json)
        visit(inner);
  };
  if (statement.contains("value"))
    visit(statement.at("value"));
  for (const Json &pair : statement.value("pairs", Json::array()))
    visit(pair.at(0));
  return hasReplicas && !isInside;
}

void FrontEnd::recordRendezvous(const Json &statement) {
  if (!rendezvousStatements || !isReplicaContext())
    return;
  std::string name = statement.at("op").get<std::string>();
  bool isRendezvous = name == "all_reduce" || name == "all_gather" ||
                      name == "merge_call" || name == "update" ||
                      name == "variable";
  Json recorded = statement;
  if (name.starts_with("assign") || name.starts_with("scatter_")) {
    const Variable &variable = variables[variableOf(statement, "var").variable];
    isRendezvous = !hasOwnCopies(variable) &&
                   variable.spec.aggregation != replica::Aggregation::None;
    recorded["var"] = variable.symbol;
  }
  if (!isRendezvous)
    return;
  // The operands are each replica's own.
  for (const char *own : {"value", "args", "slices", "init", "returns"})
    recorded.erase(own);
  rendezvousStatements->push_back(recorded.dump());
}

bool FrontEnd::computesPerWorker(const Json &statement) {
  // Where a process has one replica, that replica's value is the plain value of
  // the process.
  if (one.strategy.workers == 1 || one.strategy.localReplicas() > 1 ||
      isReplicaContext() || statement.at("op") == "set")
    return false;
  bool found = false;
  for (const char *field : {"a", "b"})
    if (statement.contains(field))
      forEachLeaf(operandOf(statement, field), [&](const Leaf &leaf) {
        found |= leaf.isTensor() && !leaf.component &&
                 isa<replica::PerReplicaType>(leaf.value.getType());
      });
  return found;
}

void FrontEnd::bind(const Json &destination, Object value) {
  if (destination.is_null())
    return;
  if (destination.is_string()) {
    scope->names[destination.get<std::string>()] = std::move(value);
    return;
  }
  if (value.isLeaf() || value.items.size() != destination.size())
    refuse("E_STRUCT_MISMATCH", "expected {} values to unpack, found {}",
           destination.size(), value.items.size());
  for (size_t i = 0; i < destination.size(); ++i)
    bind(destination[i], std::move(value.items[i]));
}

const Object *FrontEnd::find(const std::string &name) const {
  for (const Scope *at = scope; at; at = at->parent)
    if (auto found = at->names.find(name); found != at->names.end())
      return &found->second;
  return nullptr;
}

Object FrontEnd::operand(const Json &json) {
  auto list = [&](const Json &items, Object::Structure structure) {
    Object result(structure, {});
    for (const Json &item : items)
      result.items.push_back(operand(item));
    return result;
  };
  if (json.is_null())
    return Leaf();
  if (json.is_number() || json.is_boolean())
    return makeHost(json);
  if (json.is_array())
    return list(json, Object::Structure::List);
  if (json.is_string()) {
    const Object *found = find(json.get<std::string>());
    if (!found)
      throw CaseError(
          fmt::format("name '{}' is not defined", json.get<std::string>()));
    return mapLeaves(*found, [&](const Leaf &leaf) {
      return ofTraced(localize(leaf, *frame));
    });
  }
  if (json.contains("tuple"))
    return list(json.at("tuple"), Object::Structure::Tuple);
  if (json.contains("list"))
    return list(json.at("list"), Object::Structure::List);
  if (json.contains("dict")) {
    Object result(Object::Structure::Dict, {});
    for (const auto &[key, item] : json.at("dict").items()) {
      result.keys.push_back(key);
      result.items.push_back(operand(item));
    }
    return result;
  }
  if (json.contains("py")) {
    const Json &value = json.at("py");
    if (!value.is_array())
      return value.is_null() ? Leaf() : makeHost(value);
    Object result(Object::Structure::List, {});
    for (const Json &item : value)
      result.items.push_back(operand({{"py", item}}));
    return result;
  }
  if (json.contains("none"))
    return Leaf();
  const Json &constant = json.contains("const") ? json.at("const") : json;
  auto constantOf = [&](const Json &tensor) -> Value {
    return arith::ConstantOp::create(frame->builder, location(),
                                     toAttribute(&context, readTensor(tensor)));
  };
  if (isTensor(constant))
    return fresh(constantOf(constant));
  if (constant.contains("indexed_slices")) {
    const Json &slices = constant.at("indexed_slices");
    Leaf leaf = fresh(constantOf(slices.at("values")));
    leaf.indices = constantOf(slices.at("indices"));
    leaf.denseShape = readDenseShape(slices);
    return leaf;
  }
  unsupported("operand {}", json.dump());
}

Leaf FrontEnd::leafOf(const Json &statement, const char *field) {
  Object object = operandOf(statement, field);
  if (!object.isLeaf())
    refuse("E_ARG_TYPE", "'{}': expected one value for '{}', found a nest",
           statement.at("op").get<std::string>(), field);
  return object.leaf;
}

std::vector<Object> FrontEnd::listOf(const Json &statement, const char *field) {
  if (!statement.contains(field))
    return {};
  Object object = operandOf(statement, field);
  if (object.isLeaf() || object.structure == Object::Structure::Dict)
    refuse("E_ARG_TYPE", "'{}': expected a list or tuple for '{}'",
           statement.at("op").get<std::string>(), field);
  return object.items;
}

Object FrontEnd::call(const Json &function, const char *body,
                      std::vector<Object> arguments) {
  std::vector<std::string> params =
      function.value("params", std::vector<std::string>());
  if (params.size() != arguments.size())
    refuse("E_ARG_TYPE", "expected {} arguments, found {}", params.size(),
           arguments.size());
  Scope inner;
  inner.parent = scope;
  for (size_t i = 0; i < params.size(); ++i)
    inner.names[params[i]] = std::move(arguments[i]);
  Scope *outer = std::exchange(scope, &inner);
  if (function.contains(body))
    execute(function.at(body));
  Object result =
      function.contains("returns") ? operand(function.at("returns")) : Object();
  scope = outer;
  return result;
}

} // namespace lockstep::conformance::driver

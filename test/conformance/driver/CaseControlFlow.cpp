//===- CaseControlFlow.cpp - Branches, loops and nested functions ---------===//

#include "test/conformance/driver/FrontEnd.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace lockstep::conformance::driver {

const FrontEnd::Handlers &FrontEnd::controlFlowHandlers() {
  static const Handlers handlers = {
      {"static_if_replica", &FrontEnd::staticIfStatement},
      {"cond", &FrontEnd::condStatement},
      {"while", &FrontEnd::whileStatement},
      {"nested_function", &FrontEnd::nestedFunctionStatement},
      {"python_raise", &FrontEnd::pythonRaiseStatement},
  };
  return handlers;
}

/// Executes `body` in a new block and returns its result.
template <typename Body>
static auto inNewBlock(OpBuilder &builder, std::unique_ptr<Region> &region,
                       Body body) {
  region = std::make_unique<Region>();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&region->emplaceBlock());
  return body();
}

//===----------------------------------------------------------------------===//
// Two branches
//===----------------------------------------------------------------------===//

Leaf FrontEnd::tensorIn(Block &block, const Leaf &leaf) {
  OpBuilder::InsertionGuard guard(frame->builder);
  frame->builder.setInsertionPointToEnd(&block);
  return tensorOf(leaf);
}

static Leaf mismatch(const char *errorClass, const char *what) {
  Leaf leaf;
  leaf.kind = Leaf::Kind::Mismatch;
  leaf.message =
      fmt::format("{} differs between two branches [{}]", what, errorClass);
  return leaf;
}

/// Whether two tensors can be one value of one type.
static bool haveOneType(const Leaf &a, const Leaf &b) {
  if (!a.isTensor() || !b.isTensor() || a.isSlices() != b.isSlices() ||
      a.value.getType() != b.value.getType())
    return false;
  return !a.isSlices() || (a.indices.getType() == b.indices.getType() &&
                           a.denseShape == b.denseShape);
}

Object FrontEnd::mergeLeaves(Branches &branches, const Leaf &then,
                             const Leaf &otherwise) {
  for (const Leaf *leaf : {&then, &otherwise})
    if (leaf->kind == Leaf::Kind::Mismatch)
      return *leaf;
  if (areSame(then, otherwise))
    return then;
  if (then.isDiffering() || otherwise.isDiffering())
    return mergeDiffering(branches, then, otherwise);
  if (!branches.takesThen.empty()) {
    Leaf a = then.isVariable() ? tensorIn(branches.then->front(), then) : then;
    Leaf b = otherwise.isVariable()
                 ? tensorIn(branches.otherwise->front(), otherwise)
                 : otherwise;
    if (!haveOneType(a, b))
      return mergeDiffering(branches, a, b);
  }
  for (const Leaf *leaf : {&then, &otherwise})
    if (leaf->kind == Leaf::Kind::None)
      return mismatch("E_STRUCT_MISMATCH", "whether there is a value");
  if (then.isSlices() && otherwise.isSlices()) {
    Object merged = mergeValues(branches, then.value, otherwise.value),
           indices = mergeValues(branches, then.indices, otherwise.indices);
    if (!merged.leaf.isTensor() || !indices.leaf.isTensor())
      return merged.leaf.isTensor() ? indices : merged;
    merged.leaf.indices = indices.leaf.value;
    merged.leaf.denseShape = then.denseShape;
    branches.results[merged.leaf.identity].second =
        branches.results[indices.leaf.identity].first;
    return merged;
  }
  Leaf a = tensorIn(branches.then->front(), then),
       b = tensorIn(branches.otherwise->front(), otherwise);
  return mergeValues(branches, a.value, b.value);
}

Object FrontEnd::mergeValues(Branches &branches, Value then, Value otherwise) {
  auto first = dyn_cast<RankedTensorType>(then.getType()),
       second = dyn_cast<RankedTensorType>(otherwise.getType());
  if (!first || !second || first.getRank() != second.getRank())
    return mismatch("E_RANK_MISMATCH", "the rank");
  if (first.getElementType() != second.getElementType())
    return mismatch("E_DTYPE_MISMATCH", "the element type");
  SmallVector<int64_t> shape;
  for (auto [x, y] : llvm::zip_equal(first.getShape(), second.getShape()))
    shape.push_back(x == y ? x : ShapedType::kDynamic);
  auto type = RankedTensorType::get(shape, first.getElementType());
  auto castIn = [&](Block &block, Value value) -> Value {
    OpBuilder builder(&context);
    builder.setInsertionPointToEnd(&block);
    return value.getType() == type
               ? value
               : tensor::CastOp::create(builder, location(), type, value)
                     .getResult();
  };
  branches.yields.push_back({castIn(branches.then->front(), then),
                             castIn(branches.otherwise->front(), otherwise)});
  branches.types.push_back(type);
  // A placeholder, replaced by the result once the operation is created.
  Leaf result = fresh(branches.yields.back().first);
  branches.results[result.identity] = {branches.yields.size() - 1, 0};
  return result;
}

Object FrontEnd::mergeBranches(Branches &branches, const Object &then,
                               const Object &otherwise) {
  if (!haveSameStructure(then, otherwise))
    return mismatch("E_STRUCT_MISMATCH", "the structure of a value");
  return mapLeaves(then, otherwise, [&](const Leaf &a, const Leaf &b) {
    return mergeLeaves(branches, a, b);
  });
}

Object FrontEnd::finishIf(Value condition, Branches &branches,
                          const Object &merged, bool isStatic) {
  for (Region *region : {branches.then.get(), branches.otherwise.get()}) {
    SmallVector<Value> yields;
    for (auto [a, b] : branches.yields)
      yields.push_back(region == branches.then.get() ? a : b);
    OpBuilder builder(&context);
    builder.setInsertionPointToEnd(&region->front());
    scf::YieldOp::create(builder, location(), yields);
  }
  OperationState state(location(), scf::IfOp::getOperationName());
  state.addOperands(condition);
  state.addTypes(branches.types);
  state.addRegion(std::move(branches.then));
  state.addRegion(std::move(branches.otherwise));
  if (isStatic)
    state.addAttribute("replica.static", UnitAttr::get(&context));
  Operation *op = frame->builder.create(state);
  auto resultOf = [&](const Leaf &leaf) {
    auto place = branches.results.find(leaf.identity);
    if (!leaf.isTensor() || place == branches.results.end())
      return leaf;
    Leaf result = leaf;
    result.value = op->getResult(static_cast<unsigned>(place->second.first));
    if (leaf.isSlices())
      result.indices =
          op->getResult(static_cast<unsigned>(place->second.second));
    return result;
  };
  return mapLeaves(merged, [&](const Leaf &leaf) -> Object {
    return mapParts(leaf, resultOf);
  });
}

//===----------------------------------------------------------------------===//
// A branch on the replica's number, taken while the program is traced
//===----------------------------------------------------------------------===//

void FrontEnd::recordBarrier(const Object &object) {
  auto refuseGradient = [&](const Leaf &leaf) {
    if (leaf.isTensor() && leaf.value.getDefiningOp<scf::IfOp>())
      record({}, {leaf}, [](const Gradients &) -> Gradients {
        unsupported("gradient through a branch that does more than compute");
      });
  };
  forEachLeaf(object,
              [&](const Leaf &leaf) { forEachPart(leaf, refuseGradient); });
}

Value FrontEnd::conditionOf(ArrayRef<int64_t> ids) {
  OpBuilder &builder = frame->builder;
  Value id = math().element(replica::IdOp::create(
      builder, location(), RankedTensorType::get({}, builder.getI32Type())));
  Value result = arith::ConstantOp::create(builder, location(),
                                           builder.getBoolAttr(false));
  for (int64_t replicaId : ids) {
    Value number = arith::ConstantOp::create(
        builder, location(),
        builder.getI32IntegerAttr(static_cast<int32_t>(replicaId)));
    Value isIt = arith::CmpIOp::create(builder, location(),
                                       arith::CmpIPredicate::eq, id, number);
    result = arith::OrIOp::create(builder, location(), result, isIt);
  }
  return result;
}

/// Whether statements may be executed on replicas that do not take them: all
/// that they do is compute.
bool FrontEnd::computesOnly(const Json &statements) {
  return llvm::all_of(statements, [](const Json &statement) {
    std::string name = statement.at("op").get<std::string>();
    return name != "gradient" && mathHandlers().count(name);
  });
}

Object FrontEnd::staticIfStatement(const Json &statement) {
  requireReplicaContext(statement, {});
  if (!isReplicaContext() && !isDefaultContext())
    refuse("E_CONTEXT", "'static_if_replica' needs replica context");
  std::vector<int64_t> ids = statement.at("ids").get<std::vector<int64_t>>();
  Json then = statement.value("then", Json::array()),
       otherwise = statement.value("else", Json::array());
  Branches branches;
  for (int64_t replica = 0; replica < one.strategy.replicas; ++replica)
    branches.takesThen.push_back(llvm::is_contained(ids, replica));
  // All replicas take the same path: there is nothing to distinguish.
  if (llvm::all_equal(branches.takesThen)) {
    execute(branches.takesThen.front() ? then : otherwise);
    return {};
  }
  auto before = scope->names;
  // Each side is traced as by the replicas that take it.
  auto outer = traced;
  std::vector<int64_t> all = tracedReplicas();
  auto replicasTaking = [&](bool ofThen) {
    std::vector<int64_t> found;
    for (int64_t replica : all)
      if (branches.takesThen[replica] == ofThen)
        found.push_back(replica);
    return found.empty() ? all : found;
  };
  if (!tapes.empty() && computesOnly(then) && computesOnly(otherwise)) {
    auto namesAfter = [&](const Json &statements, bool ofThen) {
      scope->names = before;
      traced = replicasTaking(ofThen);
      execute(statements);
      traced = outer;
      return scope->names;
    };
    auto afterThen = namesAfter(then, true),
         afterElse = namesAfter(otherwise, false);
    auto type = RankedTensorType::get({}, frame->builder.getI1Type());
    Leaf condition = fresh(tensor::FromElementsOp::create(
        frame->builder, location(), type, conditionOf(ids)));
    scope->names.clear();
    for (const auto &[name, value] : afterThen)
      if (auto other = afterElse.find(name); other != afterElse.end())
        scope->names[name] =
            selected(condition, value, other->second, branches.takesThen);
    return {};
  }
  Value condition = conditionOf(ids);
  auto namesAfter = [&](std::unique_ptr<Region> &region, const Json &statements,
                        bool ofThen) {
    scope->names = before;
    std::vector<std::string> recorded;
    auto *outerStatements = std::exchange(rendezvousStatements, &recorded);
    traced = replicasTaking(ofThen);
    inNewBlock(frame->builder, region, [&] { execute(statements); });
    traced = outer;
    rendezvousStatements = outerStatements;
    return std::pair(scope->names, recorded);
  };
  auto [afterThen, recordedInThen] = namesAfter(branches.then, then, true);
  auto [afterElse, recordedInElse] =
      namesAfter(branches.otherwise, otherwise, false);
  // The verifier compares exchanges; names also show that two values are
  // swapped.
  if (recordedInThen != recordedInElse && deferredError.empty())
    deferredError = "replicas do not meet in the same statements, in the same "
                    "order [E_COLLECTIVE_DIVERGENCE]";
  if (rendezvousStatements)
    llvm::append_range(*rendezvousStatements, recordedInThen);
  Object merged(Object::Structure::Dict, {});
  for (const auto &[name, value] : afterThen)
    if (auto other = afterElse.find(name); other != afterElse.end()) {
      merged.keys.push_back(name);
      merged.items.push_back(mergeBranches(branches, value, other->second));
    }
  merged = finishIf(condition, branches, merged, /*isStatic=*/true);
  recordBarrier(merged);
  scope->names.clear();
  for (auto [name, value] : llvm::zip_equal(merged.keys, merged.items))
    scope->names[name] = value;
  return {};
}

//===----------------------------------------------------------------------===//
// cond
//===----------------------------------------------------------------------===//

Object FrontEnd::outputs(const Object &object) {
  auto output = [&](const Leaf &leaf) {
    if (leaf.isSlices())
      return copyOf(leaf);
    bool isUnchanged =
        leaf.kind == Leaf::Kind::None || leaf.kind == Leaf::Kind::Mismatch;
    return isUnchanged ? leaf : identity(tensorOf(leaf));
  };
  return mapLeaves(object, [&](const Leaf &leaf) -> Object {
    return mapParts(leaf, output);
  });
}

/// A branch: `{"body", "returns"}`, or statements that return nothing.
static Json branchOf(const Json &statement, const char *name) {
  Json branch = statement.value(name, Json::array());
  if (branch.is_array())
    return {{"body", branch}};
  if (branch.contains("fn"))
    branch["body"] = branch.at("fn");
  return branch;
}

bool FrontEnd::writesVariables(const Json &statements) {
  if (statements.is_object() && statements.contains("op")) {
    std::string name = statements.at("op").get<std::string>();
    if (name == "variable" || llvm::StringRef(name).starts_with("assign") ||
        llvm::StringRef(name).starts_with("scatter_"))
      return true;
  }
  return llvm::any_of(statements, [](const Json &inner) {
    return inner.is_structured() && writesVariables(inner);
  });
}

Object FrontEnd::condUnderTape(const Json &statement, const Leaf &condition,
                               const std::vector<bool> &takesThen) {
  Object then = call(branchOf(statement, "then"), "body", {}),
         otherwise = call(branchOf(statement, "else"), "body", {});
  return selected(condition, then, otherwise, takesThen);
}

Object FrontEnd::selected(const Leaf &condition, const Object &then,
                          const Object &otherwise,
                          const std::vector<bool> &takesThen) {
  if (!haveSameStructure(then, otherwise))
    return mismatch("E_STRUCT_MISMATCH", "the structure of a value");
  return mapLeaves(
      then, otherwise, [&](const Leaf &x, const Leaf &y) -> Object {
        if (areSame(x, y))
          return x;
        if (!takesThen.empty() && !haveOneType(x, y)) {
          std::vector<Leaf> parts;
          for (auto [replica, isThen] : llvm::enumerate(takesThen))
            parts.push_back(partOf(isThen ? x : y, replica));
          return differing(std::move(parts));
        }
        Leaf a = tensorOf(x), b = tensorOf(y, elementOf(a));
        if (a.value.getType() != b.value.getType())
          unsupported(
              "gradient through branches whose values have different types");
        Leaf result = fresh(math().select(condition.value, a.value, b.value));
        std::vector<std::vector<bool>> users;
        if (!takesThen.empty()) {
          users = {takesThen, takesThen};
          users.back().flip();
        }
        record(
            {a, b}, {result},
            [this, condition](const Gradients &upstream) -> Gradients {
              Leaf zeros = zerosLike(*upstream.front());
              return {
                  fresh(math().select(condition.value, upstream.front()->value,
                                      zeros.value)),
                  fresh(math().select(condition.value, zeros.value,
                                      upstream.front()->value))};
            },
            users);
        return result;
      });
}

Object FrontEnd::condStatement(const Json &statement) {
  Leaf given = leafOf(statement, "pred");
  if (given.isHost()) {
    std::vector<Json> truths;
    for (const Json &value : given.host)
      truths.push_back(value.is_boolean() ? value.get<bool>()
                                          : value.get<double>() != 0);
    given = makeHost(std::move(truths));
    if (given.host.size() == 1)
      return outputs(call(
          branchOf(statement, given.host.front().get<bool>() ? "then" : "else"),
          "body", {}));
  }
  Leaf condition = tensorOf(given);
  if (!elementOf(condition).isInteger(1))
    refuse("E_DTYPE_MISMATCH", "'cond': expected a boolean");
  Branches branches;
  if (given.isHost() && isReplicaContext())
    for (const Json &truth : given.host)
      branches.takesThen.push_back(truth.get<bool>());
  // For a gradient both sides are computed, so that neither may write
  // variables.
  bool writes = writesVariables(branchOf(statement, "then")) ||
                writesVariables(branchOf(statement, "else"));
  if (!tapes.empty() && !writes)
    return condUnderTape(statement, condition, branches.takesThen);
  if (auto type = dyn_cast<RankedTensorType>(condition.value.getType());
      !type || type.getRank() != 0)
    refuse("E_SHAPE_MISMATCH", "'cond': expected a scalar");
  Value predicate = math().element(condition.value);
  auto fill = [&](std::unique_ptr<Region> &region, const char *name) {
    return inNewBlock(frame->builder, region, [&] {
      return call(branchOf(statement, name), "body", {});
    });
  };
  Object then = fill(branches.then, "then"),
         otherwise = fill(branches.otherwise, "else");
  Object merged =
      finishIf(predicate, branches, mergeBranches(branches, then, otherwise),
               /*isStatic=*/false);
  recordBarrier(merged);
  return outputs(merged);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Object FrontEnd::nestedFunctionStatement(const Json &statement) {
  // A sub-graph; its results are new tensors.
  return outputs(call(statement, statement.contains("fn") ? "fn" : "body",
                      listOf(statement, "args")));
}

Object FrontEnd::pythonRaiseStatement(const Json &statement) {
  refuse("E_USER", "the user's function raises {}",
         statement.value("message", "an exception"));
}

} // namespace lockstep::conformance::driver

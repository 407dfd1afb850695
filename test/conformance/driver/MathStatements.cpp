//===- MathStatements.cpp - Math, with its gradients ----------------------===//

#include "test/conformance/driver/FrontEnd.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;

namespace lockstep::conformance::driver {

const FrontEnd::Handlers &FrontEnd::mathHandlers() {
  static const Handlers handlers = {
      {"add", &FrontEnd::binaryStatement},
      {"sub", &FrontEnd::binaryStatement},
      {"mul", &FrontEnd::binaryStatement},
      {"less", &FrontEnd::binaryStatement},
      {"equal", &FrontEnd::binaryStatement},
      {"neg", &FrontEnd::unaryStatement},
      {"tanh", &FrontEnd::unaryStatement},
      {"square", &FrontEnd::unaryStatement},
      {"matmul", &FrontEnd::matmulStatement},
      {"cast", &FrontEnd::castStatement},
      {"identity", &FrontEnd::identityStatement},
      {"expand_dims", &FrontEnd::expandDimsStatement},
      {"reduce_sum", &FrontEnd::reduceStatementOfTensor},
      {"reduce_mean", &FrontEnd::reduceStatementOfTensor},
      {"set", &FrontEnd::setStatement},
      {"python_sum", &FrontEnd::pythonSumStatement},
      {"range_py", &FrontEnd::rangeStatement},
      {"gradient", &FrontEnd::gradientStatement},
  };
  return handlers;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Leaf FrontEnd::binary(Binary op, Leaf a, Leaf b) {
  Leaf result = fresh(math().binary(op, a.value, b.value));
  record({a, b}, {result},
         [this, op, a, b](const Gradients &upstream) -> Gradients {
           const Leaf &dy = *upstream.front();
           switch (op) {
           case Binary::Add:
             return {sumToShapeOf(dy, a), sumToShapeOf(dy, b)};
           case Binary::Sub:
             return {sumToShapeOf(dy, a),
                     unary(Unary::Neg, sumToShapeOf(dy, b))};
           case Binary::Mul:
             return {sumToShapeOf(binary(Binary::Mul, dy, b), a),
                     sumToShapeOf(binary(Binary::Mul, dy, a), b)};
           default:
             return {std::nullopt, std::nullopt};
           }
         });
  return result;
}

Leaf FrontEnd::unary(Unary op, const Leaf &a) {
  Leaf result = fresh(math().unary(op, a.value));
  record({a}, {result},
         [this, op, result](const Gradients &upstream) -> Gradients {
           const Leaf &dy = *upstream.front();
           if (op == Unary::Neg)
             return {unary(Unary::Neg, dy)};
           // tanh: 1 - y^2.
           Leaf ones = fresh(math().filled(result.value, 1));
           return {binary(
               Binary::Mul, dy,
               binary(Binary::Sub, ones, binary(Binary::Mul, result, result)))};
         });
  return result;
}

Leaf FrontEnd::matmul(const Leaf &a, const Leaf &b) {
  Leaf result = fresh(math().matmul(a.value, b.value));
  record({a, b}, {result},
         [this, a, b](const Gradients &upstream) -> Gradients {
           return {matmul(*upstream.front(), transpose(b)),
                   matmul(transpose(a), *upstream.front())};
         });
  return result;
}

Leaf FrontEnd::transpose(const Leaf &a) {
  Leaf result = fresh(math().transpose(a.value));
  record({a}, {result}, [this](const Gradients &upstream) -> Gradients {
    return {transpose(*upstream.front())};
  });
  return result;
}

Leaf FrontEnd::cast(const Leaf &a, Type element) {
  Leaf result = fresh(math().cast(a.value, element));
  record({a}, {result},
         [this, from = elementOf(a)](const Gradients &upstream) -> Gradients {
           return {cast(*upstream.front(), from)};
         });
  return result;
}

Leaf FrontEnd::identity(const Leaf &a) {
  Leaf result = fresh(a.value);
  record({a}, {result}, [](const Gradients &upstream) { return upstream; });
  return result;
}

Leaf FrontEnd::reduceSum(const Leaf &a, const std::vector<int64_t> &axes) {
  if (axes.empty())
    return identity(a);
  Leaf result = fresh(math().reduceSum(a.value, axes));
  record({a}, {result},
         [this, a, axes](const Gradients &upstream) -> Gradients {
           return {broadcastLike(expandDims(*upstream.front(), axes), a)};
         });
  return result;
}

Leaf FrontEnd::divideBySize(const Leaf &a, const Leaf &of,
                            const std::vector<int64_t> &axes) {
  Leaf result = fresh(math().divideBySize(a.value, of.value, axes));
  record({a}, {result},
         [this, of, axes](const Gradients &upstream) -> Gradients {
           return {divideBySize(*upstream.front(), of, axes)};
         });
  return result;
}

Leaf FrontEnd::reduceMean(const Leaf &a, const std::vector<int64_t> &axes) {
  return divideBySize(reduceSum(a, axes), a, axes);
}

Leaf FrontEnd::expandDims(const Leaf &a, const std::vector<int64_t> &axes) {
  Leaf result = fresh(math().expandDims(a.value, axes));
  record({a}, {result}, [this, axes](const Gradients &upstream) -> Gradients {
    return {reduceSum(*upstream.front(), axes)};
  });
  return result;
}

Leaf FrontEnd::broadcastLike(const Leaf &a, const Leaf &like) {
  Leaf result = fresh(math().broadcastLike(a.value, like.value));
  record({a}, {result}, [this, a](const Gradients &upstream) -> Gradients {
    return {sumToShapeOf(*upstream.front(), a)};
  });
  return result;
}

Leaf FrontEnd::sumToShapeOf(const Leaf &a, const Leaf &like) {
  Leaf result = fresh(math().sumToShapeOf(a.value, like.value));
  record({a}, {result}, [this, a](const Gradients &upstream) -> Gradients {
    return {broadcastLike(*upstream.front(), a)};
  });
  return result;
}

Leaf FrontEnd::zerosLike(const Leaf &a) {
  return fresh(math().filled(a.value, 0));
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// On numbers of the host, as Python computes.
static Json computeOnHost(const std::string &operation, const Json &a,
                          const Json &b) {
  if (operation == "less")
    return a.get<double>() < b.get<double>();
  if (operation == "equal")
    return a == b;
  auto compute = [&](auto x, auto y) -> Json {
    return operation == "add" ? x + y : operation == "sub" ? x - y : x * y;
  };
  auto isWhole = [](const Json &value) {
    return value.is_number_integer() || value.is_boolean();
  };
  auto whole = [](const Json &value) {
    return value.is_boolean() ? int64_t(value.get<bool>())
                              : value.get<int64_t>();
  };
  if (isWhole(a) && isWhole(b))
    return compute(whole(a), whole(b));
  auto number = [&](const Json &value) {
    return value.is_boolean() ? double(value.get<bool>()) : value.get<double>();
  };
  return compute(number(a), number(b));
}

/// One number of the host, or one for each replica.
static bool areNumbers(const Leaf &leaf) {
  return leaf.isHost() && llvm::all_of(leaf.host, [](const Json &value) {
           return value.is_number() || value.is_boolean();
         });
}

static bool isNumber(const Leaf &leaf) {
  return areNumbers(leaf) && leaf.host.size() == 1;
}

/// The same where replicas may have numbers of their own.
static Leaf computeOnHost(const std::string &operation, const Leaf &a,
                          const Leaf &b) {
  std::vector<Json> results;
  for (size_t i = 0; i < std::max(a.host.size(), b.host.size()); ++i)
    results.push_back(computeOnHost(operation,
                                    a.host[a.host.size() > 1 ? i : 0],
                                    b.host[b.host.size() > 1 ? i : 0]));
  return makeHost(std::move(results));
}

Object FrontEnd::binaryStatement(const Json &statement) {
  std::string name = statement.at("op").get<std::string>();
  Leaf a = leafOf(statement, "a"), b = leafOf(statement, "b");
  if (areNumbers(a) && areNumbers(b))
    return computeOnHost(name, a, b);
  Binary op = name == "add"    ? Binary::Add
              : name == "sub"  ? Binary::Sub
              : name == "mul"  ? Binary::Mul
              : name == "less" ? Binary::Less
                               : Binary::Equal;
  // A number of the host takes the type of the tensor beside it.
  Type element = elementOf(a) ? elementOf(a) : elementOf(b);
  a = tensorOf(a, element);
  return binary(op, a, tensorOf(b, element));
}

Object FrontEnd::unaryStatement(const Json &statement) {
  std::string name = statement.at("op").get<std::string>();
  Leaf given = leafOf(statement, "a");
  if (areNumbers(given) && name != "tanh")
    return name == "neg" ? computeOnHost("sub", makeHost(Json(0)), given)
                         : computeOnHost("mul", given, given);
  Leaf a = tensorOf(given);
  return name == "square" ? binary(Binary::Mul, a, a)
                          : unary(name == "neg" ? Unary::Neg : Unary::Tanh, a);
}

Object FrontEnd::matmulStatement(const Json &statement) {
  Leaf a = tensorOf(leafOf(statement, "a"));
  return matmul(a, tensorOf(leafOf(statement, "b"), elementOf(a)));
}

Object FrontEnd::castStatement(const Json &statement) {
  Type element =
      toType(&context, elementByName(statement.at("dtype").get<std::string>()));
  Leaf a = tensorOf(leafOf(statement, "a"));
  // Of the type that it has already, it is the same object.
  return elementOf(a) == element ? a : cast(a, element);
}

Object FrontEnd::identityStatement(const Json &statement) {
  return mapLeaves(operandOf(statement, "a"), [&](const Leaf &leaf) -> Object {
    return leaf.isSlices() ? copyOf(leaf) : identity(tensorOf(leaf));
  });
}

std::vector<int64_t> FrontEnd::axesOf(const Json &axis, int64_t rank) {
  std::vector<int64_t> axes;
  if (axis.is_null()) {
    for (int64_t d = 0; d < rank; ++d)
      axes.push_back(d);
    return axes;
  }
  if (axis.is_string() && !find(axis.get<std::string>()))
    refuse("E_ARG_TYPE", "expected an integer as axis, found {}", axis.dump());
  forEachLeaf(operand(axis), [&](const Leaf &leaf) {
    if (!leaf.isHost() || !leaf.host.front().is_number_integer())
      refuse("E_ARG_TYPE", "expected an integer as axis, found {}",
             axis.dump());
    int64_t given = leaf.host.front().get<int64_t>(),
            found = given < 0 ? given + rank : given;
    if (found < 0 || found >= rank)
      refuse("E_AXIS_RANGE", "expected an axis in [{}, {}), found {}", -rank,
             rank, given);
    if (llvm::is_contained(axes, found))
      refuse("E_AXIS_RANGE", "axis {} stands twice in {}", given, axis.dump());
    axes.push_back(found);
  });
  std::sort(axes.begin(), axes.end());
  return axes;
}

static int64_t rankOf(const Leaf &leaf) {
  auto type = dyn_cast<RankedTensorType>(leaf.value.getType());
  if (!type)
    refuse("E_RANK_MISMATCH", "expected values of one rank on all replicas");
  return type.getRank();
}

Object FrontEnd::reduceStatementOfTensor(const Json &statement) {
  Leaf a = tensorOf(leafOf(statement, "a"));
  std::vector<int64_t> axes =
      axesOf(statement.value("axis", Json()), rankOf(a));
  return statement.at("op") == "reduce_sum" ? reduceSum(a, axes)
                                            : reduceMean(a, axes);
}

Object FrontEnd::expandDimsStatement(const Json &statement) {
  Leaf a = tensorOf(leafOf(statement, "a"));
  return expandDims(a, axesOf(statement.at("axis"), rankOf(a) + 1));
}

Object FrontEnd::setStatement(const Json &statement) {
  return operandOf(statement, "a");
}

Object FrontEnd::pythonSumStatement(const Json &statement) {
  Object list = operandOf(statement, "a");
  if (list.isLeaf() || list.structure == Object::Structure::Dict)
    refuse("E_ARG_TYPE", "'python_sum': expected a list");
  // As in Python, the sum begins with the number 0, which changes no tensor.
  Leaf sum = makeHost(Json(0));
  for (const Object &item : list.items) {
    if (!item.isLeaf())
      refuse("E_ARG_TYPE", "'python_sum': expected numbers and tensors in the "
                           "list, found a nest");
    if (areNumbers(sum) && areNumbers(item.leaf)) {
      sum = computeOnHost("add", sum, item.leaf);
      continue;
    }
    Type element = elementOf(sum) ? elementOf(sum) : elementOf(item.leaf);
    bool isFirst = isNumber(sum) && sum.host.front() == 0;
    Leaf next = tensorOf(item.leaf, element);
    sum = isFirst ? identity(next)
                  : binary(Binary::Add, tensorOf(sum, element), next);
  }
  return sum;
}

Object FrontEnd::rangeStatement(const Json &statement) {
  const Json &given =
      statement.contains("n") ? statement.at("n") : statement.at("a");
  Object count = operand(given);
  if (!count.isLeaf() || !isNumber(count.leaf) ||
      !count.leaf.host.front().is_number_integer())
    refuse("E_ARG_TYPE",
           "'range_py': expected an integer of the host, found {}",
           given.dump());
  Object result(Object::Structure::List, {});
  for (int64_t i = 0; i < count.leaf.host.front().get<int64_t>(); ++i)
    result.items.push_back(makeHost(i));
  return result;
}

} // namespace lockstep::conformance::driver

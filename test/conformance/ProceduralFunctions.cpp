//===- ProceduralFunctions.cpp - functions of expressions -----------------===//

#include "ProceduralFunctions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lockstep::conformance {

namespace {

using Arguments = std::vector<CaseValue>;

Status wrongArguments(const std::string &name, const Arguments &arguments) {
  std::string found;
  for (const CaseValue &argument : arguments)
    found += (found.empty() ? "" : ", ") + argument.toJson().dump();
  return runtime::invalidArgument(fmt::format(
      "expected a function '{}' that takes these arguments, found none: {}",
      name, found));
}

bool isInteger(const CaseValue &value) {
  return value.kind == CaseValue::Kind::host && value.host.is_number_integer();
}
int64_t integerOf(const CaseValue &value) { return value.host.get<int64_t>(); }
bool allIntegers(const Arguments &values) {
  return std::all_of(values.begin(), values.end(), isInteger);
}

template <typename T> T compute(char operation, T left, T right) {
  switch (operation) {
  case '+':
    return left + right;
  case '-':
    return left - right;
  default:
    return left * right;
  }
}

/// As in Python: division yields a float, other operations on integers an
/// integer.
json computeElement(char operation, const json &left, const json &right) {
  if (operation == '/')
    return left.get<double>() / right.get<double>();
  if (left.is_number_integer() && right.is_number_integer())
    return compute(operation, left.get<int64_t>(), right.get<int64_t>());
  return compute(operation, left.get<double>(), right.get<double>());
}

int64_t elementsOf(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// Appends the numbers of nested lists; every list must have the shape of its
/// neighbours.
bool flatten(const CaseValue &value, size_t depth, CaseTensor &into) {
  if (value.kind == CaseValue::Kind::host) {
    into.data.push_back(castElement(value.host, into.dtype));
    return depth == into.shape.size();
  }
  if (value.kind != CaseValue::Kind::list)
    return false;
  // The first list on each level determines the size.
  if (into.shape.size() == depth && into.data.empty())
    into.shape.push_back(static_cast<int64_t>(value.members.size()));
  if (depth >= into.shape.size() ||
      into.shape[depth] != static_cast<int64_t>(value.members.size()))
    return false;
  return std::all_of(value.members.begin(), value.members.end(),
                     [&](const CaseValue &member) {
                       return flatten(member, depth + 1, into);
                     });
}

CaseValue counted(int64_t first, int64_t last, const std::string &dtype) {
  CaseTensor result{dtype, {std::max<int64_t>(last - first, 0)}, {}};
  for (int64_t i = first; i < last; ++i)
    result.data.push_back(castElement(i, dtype));
  return tensorValue(std::move(result));
}

std::vector<uint64_t> everyNth(uint64_t count, uint64_t first, uint64_t step) {
  std::vector<uint64_t> rows;
  for (uint64_t row = first; row < count; row += step)
    rows.push_back(row);
  return rows;
}

} // namespace

bool isDtype(const std::string &name) {
  static constexpr std::array names = {"f32", "f64", "f16", "bf16",
                                       "i32", "i64", "bool"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

Expected<CaseValue> toTensor(const CaseValue &lists, const std::string &dtype) {
  CaseTensor result{dtype, {}, {}};
  if (!flatten(lists, 0, result))
    return runtime::invalidArgument(
        fmt::format("expected lists of numbers of one shape, found {}",
                    lists.toJson().dump()));
  return tensorValue(std::move(result));
}

Expected<CaseValue> arithmetic(char operation, const CaseValue &left,
                               const CaseValue &right) {
  using Kind = CaseValue::Kind;
  if (left.kind == Kind::host && right.kind == Kind::host)
    return hostValue(computeElement(operation, left.host, right.host));
  bool tensors = left.kind == Kind::tensor && right.kind == Kind::tensor;
  if (left.isNest() || right.isNest() ||
      (tensors && left.tensor.shape != right.tensor.shape))
    return runtime::invalidArgument(
        fmt::format("expected numbers or tensors of one shape, found {} {} {}",
                    left.toJson().dump(), operation, right.toJson().dump()));
  CaseValue result = left.kind == Kind::tensor ? left : right;
  for (size_t i = 0; i < result.tensor.data.size(); ++i) {
    const json &a = left.kind == Kind::tensor ? left.tensor.data[i] : left.host;
    const json &b =
        right.kind == Kind::tensor ? right.tensor.data[i] : right.host;
    result.tensor.data[i] =
        castElement(computeElement(operation, a, b), result.tensor.dtype);
  }
  return result;
}

Expected<CaseValue> indexed(const CaseValue &value, const CaseValue &index) {
  const CaseValue &position =
      index.kind == CaseValue::Kind::list && index.members.size() == 1
          ? index.members.front()
          : index;
  int64_t size =
      value.kind == CaseValue::Kind::tensor && !value.tensor.shape.empty()
          ? value.tensor.shape.front()
          : static_cast<int64_t>(value.members.size());
  if (!isInteger(position) || integerOf(position) < -size ||
      integerOf(position) >= size)
    return runtime::invalidArgument(fmt::format(
        "expected an index below {}, found {}", size, index.toJson().dump()));
  int64_t at = integerOf(position) + (integerOf(position) < 0 ? size : 0);
  if (value.isNest())
    return value.members[at];
  CaseTensor row = takeRows(value.tensor, {static_cast<uint64_t>(at)});
  row.shape.erase(row.shape.begin());
  return tensorValue(std::move(row));
}

Expected<CaseValue> callFunction(const std::string &name,
                                 const Arguments &arguments) {
  size_t count = arguments.size();
  if (isDtype(name) && count == 1) {
    if (arguments[0].kind == CaseValue::Kind::tensor)
      return tensorValue(cast(arguments[0].tensor, name));
    return toTensor(arguments[0], name);
  }
  if (name == "arange" && count == 2 && isInteger(arguments[0]) &&
      arguments[1].host.is_string())
    return counted(0, integerOf(arguments[0]), arguments[1].host);
  if ((name == "range" || name == "arange") && (count == 1 || count == 2) &&
      allIntegers(arguments))
    return counted(count == 2 ? integerOf(arguments[0]) : 0,
                   integerOf(arguments.back()), "i64");
  if ((name == "ones" || name == "zeros") && count == 1 &&
      arguments[0].isNest() && allIntegers(arguments[0].members)) {
    CaseTensor result;
    for (const CaseValue &size : arguments[0].members)
      result.shape.push_back(integerOf(size));
    result.data.assign(static_cast<size_t>(elementsOf(result.shape)),
                       name == "ones" ? 1.0 : 0.0);
    return tensorValue(std::move(result));
  }
  return wrongArguments(name, arguments);
}

Expected<CaseValue> callMethod(const std::string &name, const CaseValue &value,
                               const Arguments &arguments) {
  bool rows =
      value.kind == CaseValue::Kind::tensor && !value.tensor.shape.empty();
  if (!allIntegers(arguments))
    return wrongArguments(name, arguments);
  if (name == "reshape" && value.kind == CaseValue::Kind::tensor) {
    CaseValue result = value;
    result.tensor.shape.clear();
    for (const CaseValue &size : arguments)
      result.tensor.shape.push_back(integerOf(size));
    if (elementsOf(result.tensor.shape) !=
        static_cast<int64_t>(value.tensor.data.size()))
      return wrongArguments(name, arguments);
    return result;
  }
  if (name == "batch" && rows && arguments.size() == 1 &&
      integerOf(arguments[0]) > 0) {
    CaseValue result{.kind = CaseValue::Kind::list};
    uint64_t count = static_cast<uint64_t>(value.tensor.shape.front()),
             size = static_cast<uint64_t>(integerOf(arguments[0]));
    for (uint64_t first = 0; first < count; first += size)
      result.members.push_back(tensorValue(takeRows(
          value.tensor, everyNth(std::min(first + size, count), first, 1))));
    return result;
  }
  if (name == "shard" && arguments.size() == 2 && integerOf(arguments[0]) > 0 &&
      integerOf(arguments[1]) >= 0) {
    uint64_t step = static_cast<uint64_t>(integerOf(arguments[0])),
             first = static_cast<uint64_t>(integerOf(arguments[1]));
    if (rows)
      return tensorValue(
          takeRows(value.tensor,
                   everyNth(static_cast<uint64_t>(value.tensor.shape.front()),
                            first, step)));
    CaseValue result{.kind = CaseValue::Kind::list};
    for (uint64_t member : everyNth(value.members.size(), first, step))
      result.members.push_back(value.members[member]);
    return result;
  }
  return wrongArguments(name, arguments);
}

} // namespace lockstep::conformance

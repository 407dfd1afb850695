//===- Variables.cpp - reads and writes variables -------------------------===//

#include "runtime/checkpoint/Variables.h"

#include "runtime/data/NpyArray.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace lockstep::runtime {

namespace {

/// The shape of the stacked values of a variable with one for each replica.
std::vector<int64_t> stackedShape(const VariableView &variable) {
  std::vector<int64_t> shape = variable.type.shape;
  shape.insert(shape.begin(), static_cast<int64_t>(variable.values.size()));
  return shape;
}

/// Whether the tensor holds a value for each replica; none if it does not
/// match.
std::optional<bool> isStacked(const VariableView &variable,
                              const TensorInfo &found) {
  if (found.element != variable.type.element)
    return std::nullopt;
  if (found.shape == variable.type.shape)
    return false;
  if (variable.perReplica && found.shape == stackedShape(variable))
    return true;
  return std::nullopt;
}

std::string expectedTypes(const VariableView &variable) {
  std::string text = typeName(variable.type);
  if (variable.perReplica)
    text +=
        fmt::format(" or {} (a value for each replica)",
                    typeName(variable.type.element, stackedShape(variable)));
  return text;
}

void copyValues(std::span<const std::byte> source, const VariableView &variable,
                bool stacked) {
  for (const VariableValue &value : variable.values) {
    value.write(source.first(value.size()));
    if (stacked)
      source = source.subspan(value.size());
  }
}

} // namespace

std::vector<VariableView> variablesOf(Cluster &cluster) {
  std::vector<VariableView> views;
  for (const VariableInfo &info : cluster.variables()) {
    VariableView view{info.name,       info.type, info.hasInitial,
                      info.perReplica, {},        info.synchronization,
                      info.aggregation};
    unsigned count = info.perReplica ? cluster.replicas() : 1;
    for (unsigned replica = 0; replica < count; ++replica)
      view.values.push_back(*cluster.variable(info.name, replica));
    views.push_back(std::move(view));
  }
  return views;
}

Status loadValues(const SafetensorsFile &file,
                  std::span<const VariableView> variables, Missing missing) {
  struct Load {
    const VariableView *variable;
    const SafetensorsEntry *tensor;
    bool stacked;
  };
  std::vector<Load> loads;
  std::vector<std::string> problems;
  std::set<std::string_view> names;

  for (const VariableView &variable : variables) {
    names.insert(variable.name);
    const SafetensorsEntry *tensor = file.find(variable.name);
    if (!tensor) {
      if (missing == Missing::refuse || !variable.hasInitial)
        problems.push_back(
            fmt::format("'{}': expected {}, found no such tensor",
                        variable.name, expectedTypes(variable)));
      continue;
    }
    std::optional<bool> stacked = isStacked(variable, tensor->type);
    if (!stacked)
      problems.push_back(fmt::format("'{}': expected {}, found {}",
                                     variable.name, expectedTypes(variable),
                                     typeName(tensor->type)));
    else if (variable.type.element == artifact::ElementType::i1 &&
             !areBooleans(file.data(*tensor)))
      problems.push_back(
          fmt::format("'{}': expected booleans of 0 or 1, found another value",
                      variable.name));
    else
      loads.push_back({&variable, tensor, *stacked});
  }
  for (const SafetensorsEntry &tensor : file.tensors())
    if (!names.contains(tensor.name))
      problems.push_back(fmt::format("'{}': expected no such tensor, found {}",
                                     tensor.name, typeName(tensor.type)));

  // A file of another model may have a million of them.
  constexpr size_t most = 100;
  if (size_t more = problems.size(); more > most) {
    problems.resize(most);
    problems.push_back(fmt::format("and {} more", more - most));
  }
  if (!problems.empty())
    return invalidArgument(
        fmt::format("'{}' does not fit the variables of the artifact:\n  {}",
                    file.path(), fmt::join(problems, "\n  ")));
  for (const Load &load : loads)
    copyValues(file.data(*load.tensor), *load.variable, load.stacked);
  return Status::success();
}

std::vector<TensorToWrite> tensorsOf(std::span<const VariableView> variables) {
  std::vector<TensorToWrite> tensors;
  for (const VariableView &variable : variables) {
    TensorToWrite tensor{
        variable.name, variable.type.element, variable.type.shape, {}};
    std::span<const VariableValue> written(variable.values);
    bool allEqual = std::all_of(
        written.begin() + 1, written.end(),
        [&](const VariableValue &value) { return value == written.front(); });
    if (allEqual)
      written = written.first(1);
    else
      tensor.shape = stackedShape(variable);
    for (const VariableValue &value : written)
      tensor.parts.insert(tensor.parts.end(), value.pieces().begin(),
                          value.pieces().end());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

} // namespace lockstep::runtime

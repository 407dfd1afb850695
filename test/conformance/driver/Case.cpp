//===- Case.cpp - One case of a case file ---------------------------------===//

#include "test/conformance/driver/Case.h"

#include "test/conformance/driver/Error.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <fstream>

namespace lockstep::conformance::driver {

static constexpr const char *kFormat = "tfdist-neutral-1";

/// Takes the place of a case that cannot be read, so that it is counted as one
/// that fails.
static Json malformed(const std::string &name, const std::string &why) {
  return {{"name", name}, {"category", "malformed"}, {kMalformed, why}};
}

/// Errors of a case independent of its program; empty if there are none.
static std::string findError(const Json &one) {
  if (!one.is_object())
    return "expected a case that is an object, found " + one.dump();
  for (const char *field : {"name", "category", "grading"})
    if (!one.contains(field) || !one.at(field).is_string())
      return fmt::format("expected the field '{}', a string", field);
  static constexpr std::string_view gradings[] = {
      "match_tf", "reject", "reject_tf_silent", "clean_expected"};
  std::string grading = one.at("grading").get<std::string>();
  if (std::find(std::begin(gradings), std::end(gradings), grading) ==
      std::end(gradings))
    return fmt::format("unknown 'grading' '{}'", grading);
  const Json strategy = one.value("strategy", Json::object());
  if (strategy.is_object() && one.contains("replicas") &&
      strategy.contains("replicas") &&
      one.at("replicas") != strategy.at("replicas"))
    return fmt::format("expected {} 'replicas' as in 'strategy', found {}",
                       strategy.at("replicas").dump(),
                       one.at("replicas").dump());
  return "";
}

/// Appends the cases of `file`.
static void readFile(const std::filesystem::path &file,
                     std::vector<Json> &cases) {
  std::ifstream stream(file);
  Json content = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!content.is_object() || !content.contains("format") ||
      content.at("format") != kFormat) {
    cases.push_back(
        malformed(file.string(),
                  fmt::format("expected a case file of format '{}'", kFormat)));
    return;
  }
  if (!content.contains("cases") || !content.at("cases").is_array()) {
    cases.push_back(
        malformed(file.string(), "expected the field 'cases', a list"));
    return;
  }
  for (size_t i = 0; i < content.at("cases").size(); ++i) {
    Json one = content.at("cases")[i];
    if (one.is_object() && !one.contains("category") &&
        content.contains("category"))
      one["category"] = content.at("category");
    std::string why = findError(one);
    cases.push_back(
        why.empty()
            ? std::move(one)
            : malformed(fmt::format("{}: case {}", file.string(), i), why));
  }
}

std::vector<Json> readCases(const std::filesystem::path &folder) {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());

  if (files.empty())
    throw CaseError(fmt::format("{}: expected case files ('.json'), found none",
                                folder.string()));

  std::vector<Json> cases;
  for (const std::filesystem::path &file : files)
    readFile(file, cases);
  return cases;
}

Strategy readStrategy(const Json &json) {
  Strategy strategy;
  std::string kind = json.at("kind").get<std::string>();
  std::optional<replica::Kind> known = replica::symbolizeKind(kind);
  if (!known)
    unsupported("strategy '{}'", kind);
  strategy.kind = *known;
  strategy.workers = json.value("workers", int64_t(1));
  strategy.replicas =
      json.value("replicas", strategy.workers *
                                 json.value("replicas_per_worker", int64_t(1)));
  strategy.servers = json.value("servers", int64_t(0));
  return strategy;
}

/// "ONLY_FIRST_REPLICA" is `only_first_replica`.
static std::string lower(const std::string &text) {
  return llvm::StringRef(text).lower();
}

VariableSpec readVariable(const Json &json, const std::string &name) {
  VariableSpec variable;
  variable.name = name;
  variable.initial = readTensor(json.at("init"));
  auto read = [&](const char *field, auto symbolize, auto &value) {
    auto found = json.find(field);
    if (found == json.end() || found->is_null())
      return;
    auto known = symbolize(lower(found->template get<std::string>()));
    if (!known)
      refuse("E_OPTION_VALUE", "variable '{}': unknown {} '{}'", name, field,
             found->template get<std::string>());
    value = *known;
  };
  read(
      "synchronization",
      [](const std::string &text) {
        return replica::symbolizeSynchronization(text);
      },
      variable.synchronization);
  read(
      "aggregation",
      [](const std::string &text) {
        return replica::symbolizeAggregation(text);
      },
      variable.aggregation);
  if (variable.aggregation == replica::Aggregation::Uniform)
    refuse("E_OPTION_VALUE", "variable '{}': unknown aggregation 'uniform'",
           name);
  return variable;
}

std::optional<std::vector<int64_t>> readDenseShape(const Json &slices) {
  auto shape = slices.find("dense_shape");
  if (shape == slices.end() || shape->is_null())
    return std::nullopt;
  return (isTensor(*shape) ? shape->at("data") : *shape)
      .get<std::vector<int64_t>>();
}

/// The properties that the values of all replicas must share to be one value of
/// the program.
static Json kindOf(const Json &value) {
  auto typeOf = [](const Json &tensor) {
    return Json{tensor.at("dtype"), tensor.at("shape").size()};
  };
  if (isTensor(value))
    return typeOf(value);
  if (!value.contains("indexed_slices"))
    return value.contains("py") ? "py" : "?";
  const Json &slices = value.at("indexed_slices");
  return {typeOf(slices.at("values")), typeOf(slices.at("indices")),
          slices.value("dense_shape", Json())};
}

static Input readInput(const std::string &name, const Json &json,
                       const Strategy &strategy) {
  Input input;
  input.name = name;
  bool perReplica = json.contains("per_replica");
  std::vector<Json> values;
  if (perReplica)
    values = json.at("per_replica").get<std::vector<Json>>();
  else
    values.push_back(json.at("shared"));
  if (perReplica && static_cast<int64_t>(values.size()) != strategy.replicas)
    throw CaseError(
        fmt::format("malformed case: input '{}' has {} values for {} replicas",
                    name, values.size(), strategy.replicas));

  if (std::all_of(values.begin(), values.end(), [](const Json &value) {
        return value.is_object() && value.contains("py");
      })) {
    for (const Json &value : values)
      input.host.push_back(value.at("py"));
    return input;
  }
  if (std::any_of(values.begin(), values.end(), [&](const Json &value) {
        return kindOf(value) != kindOf(values.front());
      })) {
    for (size_t i = 0; i < values.size(); ++i)
      input.ofReplica.push_back(readInput(fmt::format("{}.{}", name, i),
                                          {{"shared", values[i]}}, strategy));
    return input;
  }
  input.values = {name, perReplica, {}};
  for (const Json &value : values) {
    if (!value.contains("indexed_slices")) {
      input.values.values.push_back(readTensor(value));
      continue;
    }
    const Json &slices = value.at("indexed_slices");
    if (!input.indices)
      input.indices = InputTensor{name + ".indices", perReplica, {}};
    input.values.values.push_back(readTensor(slices.at("values")));
    input.indices->values.push_back(readTensor(slices.at("indices")));
    if (input.indices->values.size() == 1)
      input.denseShape = readDenseShape(slices);
  }
  if (input.indices)
    input.values.name = name + ".values";
  return input;
}

Case readCase(const Json &json) {
  Case one;
  one.name = json.at("name").get<std::string>();
  one.strategy = readStrategy(json.at("strategy"));
  if (json.contains("variables"))
    for (const Json &variable : json.at("variables"))
      one.variables.push_back(
          readVariable(variable, variable.at("name").get<std::string>()));
  if (json.contains("inputs"))
    for (const auto &[name, value] : json.at("inputs").items())
      one.inputs.push_back(readInput(name, value, one.strategy));
  one.program = json.at("program");
  one.inScope = json.value("in_scope", false);
  one.observe = json.value("observe", std::vector<std::string>());
  one.observeVariables = json.value("observe_vars", std::vector<std::string>());
  return one;
}

} // namespace lockstep::conformance::driver

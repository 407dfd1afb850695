//===- Compare.cpp - Outcomes against expectations ------------------------===//

#include "test/conformance/driver/Compare.h"

#include "test/conformance/driver/Error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::conformance::driver {

static double numberOf(const Json &json) {
  if (json.is_boolean())
    return json.get<bool>();
  if (json.is_number())
    return json.get<double>();
  std::string text = json.get<std::string>();
  if (text == "nan")
    return std::numeric_limits<double>::quiet_NaN();
  return text == "-inf" ? -std::numeric_limits<double>::infinity()
                        : std::numeric_limits<double>::infinity();
}

static bool areClose(const Json &expected, const Json &found, bool isExact,
                     double tolerance) {
  if (isExact && expected.is_number_integer() && found.is_number_integer())
    return expected.get<int64_t>() == found.get<int64_t>();
  double a = numberOf(expected), b = numberOf(found);
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  return a == b ||
         (!isExact && std::abs(a - b) <= tolerance + tolerance * std::abs(a));
}

static std::optional<std::string>
compareTensors(const Json &expected, const Json &found,
               std::optional<double> tolerance) {
  for (const char *field : {"dtype", "shape"})
    if (expected.at(field) != found.at(field))
      return fmt::format("expected {} {}, found {}", field,
                         expected.at(field).dump(), found.at(field).dump());
  std::string type = expected.at("dtype").get<std::string>();
  bool isExact = type.starts_with('i') || type == "bool";
  // Halves are accumulated in f32 and rounded once, where the recorded ones may
  // have been rounded at every step.
  double atLeast = type == "bf16" ? 1.0 / 256 : type == "f16" ? 1.0 / 2048 : 0;
  double allowed = std::max(tolerance.value_or(1e-6), atLeast);
  const Json &a = expected.at("data"), &b = found.at("data");
  for (size_t i = 0; i < a.size(); ++i)
    if (i >= b.size() || !areClose(a[i], b[i], isExact, allowed))
      return fmt::format("expected {}, found {}", a.dump(), b.dump());
  return std::nullopt;
}

/// A dense shape is written as a list or as a tensor.
static Json shapeOf(const Json &shape) {
  return isTensor(shape) ? shape.at("data") : shape;
}

std::optional<std::string> difference(const Json &expected, const Json &found,
                                      std::optional<double> tolerance) {
  auto within = [&](const std::string &place, const Json &a,
                    const Json &b) -> std::optional<std::string> {
    std::optional<std::string> reason = difference(a, b, tolerance);
    return reason ? std::optional(place + ": " + *reason) : std::nullopt;
  };
  if (isTensor(expected) && isTensor(found))
    return compareTensors(expected, found, tolerance);
  if (expected.is_array() && found.is_array() &&
      expected.size() == found.size()) {
    for (size_t i = 0; i < expected.size(); ++i)
      if (auto reason = within(std::to_string(i), expected[i], found[i]))
        return reason;
    return std::nullopt;
  }
  bool areRecords = expected.is_object() && found.is_object() &&
                    expected.size() == found.size();
  for (auto item = expected.begin(); areRecords && item != expected.end();
       ++item)
    areRecords = found.contains(item.key());
  if (areRecords) {
    for (const auto &[key, value] : expected.items())
      if (auto reason =
              key == "dense_shape"
                  ? within(key, shapeOf(value), shapeOf(found.at(key)))
                  : within(key, value, found.at(key)))
        return reason;
    return std::nullopt;
  }
  bool areNumbers = expected.is_number() && found.is_number();
  bool areExact = expected.is_number_integer() && found.is_number_integer();
  if (areNumbers ? areClose(expected, found, areExact, tolerance.value_or(1e-6))
                 : expected == found)
    return std::nullopt;
  return fmt::format("expected {}, found {}", expected.dump(), found.dump());
}

//===----------------------------------------------------------------------===//
// Expectation
//===----------------------------------------------------------------------===//

Expectation::Expectation(const Json &one) {
  std::string grading = one.at("grading").get<std::string>();
  if (one.contains("tolerance"))
    tolerance = one.at("tolerance").get<double>();
  size_t workerCount = one.at("strategy").value("workers", size_t(1));
  bool isClean = grading == "clean_expected";
  expectsError = grading == "reject" || grading == "reject_tf_silent";
  std::string neutral =
      one.contains("neutral_error") && one.at("neutral_error").is_string()
          ? one.at("neutral_error").get<std::string>()
          : "";
  if (neutral.starts_with("E_"))
    errorClass = neutral;
  if (expectsError)
    return;

  if (isClean) {
    // Expected outputs and variables are in one object.
    if (!one.contains("clean_expected"))
      return;
    Json expected = {{"outputs", Json::object()},
                     {"variables", Json::object()}};
    std::vector<std::string> variables =
        one.value("observe_vars", std::vector<std::string>());
    for (const auto &[name, value] : one.at("clean_expected").items()) {
      bool isVariable = value.is_object() && value.contains("components") &&
                        std::find(variables.begin(), variables.end(), name) !=
                            variables.end();
      expected[isVariable ? "variables" : "outputs"][name] = value;
    }
    workers.assign(workerCount, expected);
    return;
  }
  std::vector<Json> recorded;
  if (one.contains("expected_per_worker"))
    recorded = one.at("expected_per_worker").get<std::vector<Json>>();
  else
    recorded.push_back(one.at("expected"));
  for (const Json &worker : recorded) {
    if (worker.contains("error"))
      expectsError = true;
    else
      workers.push_back(worker.at("ok"));
  }
}

std::optional<std::string>
Expectation::judgeDiagnosis(const std::string &text) const {
  if (!expectsError)
    return text;
  bool isTheError = errorClass.empty() ||
                    text.find("[" + errorClass + "]") != std::string::npos;
  if (text.starts_with("unsupported: ") || !isTheError)
    return fmt::format("expected an error [{}], found: {}", errorClass, text);
  return std::nullopt;
}

std::optional<std::string>
Expectation::judgeObservations(const std::vector<Json> &found) const {
  if (expectsError)
    return fmt::format("expected an error [{}], found {}", errorClass,
                       found.front().dump());
  for (size_t worker = 0; worker < workers.size(); ++worker)
    for (const char *part : {"outputs", "variables"}) {
      Json expected = workers[worker].value(part, Json::object());
      for (const auto &[name, value] : expected.items()) {
        const Json &all = found[worker].at(part);
        std::string place = workers.size() > 1
                                ? fmt::format("worker {}, '{}'", worker, name)
                                : fmt::format("'{}'", name);
        if (!all.contains(name))
          return place + ": not observed";
        Json seen = all.at(name);
        // A variable with one copy may be recorded as that copy.
        if (isTensor(value) && seen.is_object() &&
            seen.contains("components") && seen.at("components").size() == 1)
          seen = seen.at("components").front();
        if (auto reason = difference(value, seen, tolerance))
          return place + ": " + *reason;
      }
    }
  return std::nullopt;
}

} // namespace lockstep::conformance::driver

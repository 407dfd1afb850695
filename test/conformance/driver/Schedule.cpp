//===- Schedule.cpp - Steps that a coordinator schedules ------------------===//
//
// The steps of such a case are a line of consecutive statements; the last part
// is the fetched values:
//
//   k=1..4: n+=k; all_reduce(SUM,2k); all_gather([k]); w+=k*ones;
//   returns (reduce SUM, reduce MEAN axis0, gather)
//
// A step is one scheduled function, for one value of k each. Its amounts are
// products of a number, k and `ones`, which have the shape of the variable.
// Results are reductions over replicas of reduced values, with an axis or
// gathers of gathered values.
//
//===----------------------------------------------------------------------===//

#include "test/conformance/driver/Error.h"
#include "test/conformance/driver/ProceduralPrograms.h"
#include "test/conformance/driver/Statements.h"

#include <regex>

namespace lockstep::conformance::driver {

namespace {

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (char c : text) {
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (c == separator && depth == 0) {
      parts.push_back(std::exchange(part, ""));
      continue;
    }
    part += c;
  }
  parts.push_back(part);
  for (std::string &each : parts)
    each = llvm::StringRef(each).trim().str();
  return parts;
}

class ScheduledCase {
public:
  explicit ScheduledCase(const Json &json)
      : json(json), expected(json.at("expected").at("ok")) {
    parse();
  }

  Json withProgram() const;
  /// Of every step.
  std::vector<Json> inputs() const;
  Json describe(const Case &one, const Program &program,
                const std::vector<RunResult> &runs) const;

private:
  void parse();
  void parseStatement(const std::string &text);
  std::string amount(const std::string &text, const std::string &variable = "");
  void parseReturn(const std::string &text);
  int64_t elementsOf(const std::string &variable) const {
    return static_cast<int64_t>(expected.at(variable).size());
  }
  bool isScalar(const std::string &variable) const {
    return expected.at(variable).is_number();
  }
  Json initialOf(const std::string &variable) const;

  const Json &json;
  const Json &expected;
  std::string counter;
  int64_t first = 0, last = 0;
  std::vector<std::string> variables;
  Statements body{"s"}, outside{"f"};
  /// The values last reduced and gathered by the replica, and the fetched
  /// values.
  std::string reduced, gathered;
  std::vector<std::string> fetched;
};

Json tensorOfElements(std::vector<int64_t> shape,
                      const std::function<double(int64_t)> &element) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  Json data = Json::array();
  for (int64_t i = 0; i < count; ++i)
    data.push_back(element(i));
  return {{"dtype", "f32"}, {"shape", shape}, {"data", data}};
}

void ScheduledCase::parse() {
  std::string text = json.at("steps").get<std::string>();
  static const std::regex header(R"((\w+)=(-?\d+)\.\.(-?\d+): *(.*))");
  std::smatch match;
  if (!std::regex_match(text, match, header))
    throw CaseError(
        "expected steps as in 'k=1..4: n+=k; returns (...)', found '" + text +
        "'");
  counter = match[1];
  first = std::stoll(match[2]);
  last = std::stoll(match[3]);
  for (const std::string &statement : split(match[4], ';'))
    parseStatement(statement);
}

void ScheduledCase::parseStatement(const std::string &text) {
  static const std::regex update(R"((\w+) *([+-])= *(.*))"),
      reduce(R"(all_reduce\( *(\w+) *, *(.*)\))"),
      gather(R"(all_gather\( *\[(.*)\] *\))"), returns(R"(returns *\((.*)\))");
  std::smatch match;
  if (std::regex_match(text, match, update)) {
    std::string name = match[1];
    if (!llvm::is_contained(variables, name))
      variables.push_back(name);
    body.perform(match[2] == "+" ? "assign_add" : "assign_sub",
                 {{"var", name}, {"value", amount(match[3], name)}});
  } else if (std::regex_match(text, match, reduce)) {
    reduced = body.add("all_reduce", {{"reduce_op", match[1].str()},
                                      {"value", amount(match[2])}});
  } else if (std::regex_match(text, match, gather)) {
    std::string row =
        body.add("expand_dims", {{"a", amount(match[1])}, {"axis", 0}});
    gathered = body.add("all_gather", {{"value", row}, {"axis", 0}});
  } else if (std::regex_match(text, match, returns)) {
    for (const std::string &part : split(match[1], ','))
      parseReturn(part);
  } else {
    throw CaseError("expected an update, a reduction, a gather or 'returns "
                    "(...)', found '" +
                    text + "'");
  }
}

/// The name of a product of a number, the counter and ones: "2k", "3",
/// "k*ones".
std::string ScheduledCase::amount(const std::string &text,
                                  const std::string &variable) {
  std::regex product(R"((\d+(?:\.\d+)?)? *\*? *()" + counter +
                     R"()?( *\* *ones)?)");
  std::smatch match;
  if (text.empty() || !std::regex_match(text, match, product))
    throw CaseError("expected a product of a number, '" + counter +
                    "' and 'ones', found '" + text + "'");
  double factor = match[1].matched ? std::stod(match[1]) : 1;
  std::string value =
      match[2].matched
          ? counter
          : body.add("set", {{"a", {{"const", tensorOfElements({}, [](int64_t) {
                                       return 1;
                                     })}}}});
  if (factor != 1)
    value = body.scaled(value, factor);
  if (match[3].matched && variable.empty())
    throw CaseError(
        "expected a variable that says how many 'ones' there are, found '" +
        text + "'");
  if (match[3].matched && !isScalar(variable))
    value =
        body.binary("mul", value,
                    {{"const", tensorOfElements({elementsOf(variable)},
                                                [](int64_t) { return 1; })}});
  return value;
}

void ScheduledCase::parseReturn(const std::string &text) {
  static const std::regex reduce(R"(reduce (\w+)( axis(\d+))?)");
  std::smatch match;
  auto require = [&](const std::string &name) {
    if (name.empty())
      throw CaseError("expected something to return before '" + text +
                      "', found none");
    return name;
  };
  if (text == "gather")
    fetched.push_back(
        outside.add("gather", {{"value", require(gathered)}, {"axis", 0}}));
  else if (std::regex_match(text, match, reduce))
    fetched.push_back(outside.add(
        "reduce",
        {{"reduce_op", match[1].str()},
         {"value", require(match[2].matched ? gathered : reduced)},
         {"axis", match[2].matched ? Json(std::stoll(match[3])) : Json()}}));
  else
    throw CaseError(
        "expected 'reduce OP', 'reduce OP axisN' or 'gather', found '" + text +
        "'");
}

/// Cases have the final values of variables: before the first step they are 0,
/// or 0, 1, 2, ...
Json ScheduledCase::initialOf(const std::string &variable) const {
  if (isScalar(variable))
    return tensorOfElements({}, [](int64_t) { return 0; });
  return tensorOfElements({elementsOf(variable)},
                          [](int64_t i) { return static_cast<double>(i); });
}

Json ScheduledCase::withProgram() const {
  Json result = json;
  result["strategy"] = {{"kind", "parameter_server"},
                        {"replicas", 1},
                        {"servers", json.at("num_ps")}};
  result["variables"] = Json::array();
  for (const std::string &name : variables)
    result["variables"].push_back({{"name", name}, {"init", initialOf(name)}});
  Statements replica = body;
  std::string id = replica.add("replica_id", Json::object()),
              count = replica.add("num_replicas", Json::object());
  std::vector<std::string> returned = {id, count};
  for (const std::string &name : {reduced, gathered})
    if (!name.empty())
      returned.push_back(name);
  Json run = {{"op", "run"},         {"args", {counter}},
              {"params", {counter}}, {"fn", replica.statements()},
              {"returns", returned}, {"out", returned}};
  result["program"] = Json::array({run});
  for (const Json &statement : outside.statements())
    result["program"].push_back(statement);
  result["observe"] = fetched;
  result["observe"].push_back(id);
  result["observe"].push_back(count);
  result["observe_vars"] = variables;
  return result;
}

std::vector<Json> ScheduledCase::inputs() const {
  std::vector<Json> steps;
  for (int64_t k = first; k <= last; ++k)
    steps.push_back(
        {{counter,
          {{"per_replica", Json::array({tensorOfElements({}, [&](int64_t) {
              return static_cast<double>(k);
            })})}}}});
  return steps;
}

/// The elements of a value that is observed, however it is wrapped.
Json elementsOfValue(const Json &value) {
  if (value.contains("data"))
    return value.at("data");
  if (value.contains("py"))
    return Json::array({value.at("py")});
  for (const char *wrapper : {"per_replica", "mirrored", "components"})
    if (value.contains(wrapper))
      return elementsOfValue(value.at(wrapper).at(0));
  throw CaseError("expected a tensor, found " + value.dump());
}

Json ScheduledCase::describe(const Case &one, const Program &program,
                             const std::vector<RunResult> &runs) const {
  Json result = {{"fetched", Json::array()}};
  Json observed;
  for (const RunResult &run : runs) {
    observed = observe(one, program, run, /*worker=*/0);
    Json &values = result["fetched"].emplace_back(Json::array());
    for (const std::string &name : fetched)
      values.push_back(elementsOfValue(observed.at("outputs").at(name)));
  }
  for (const std::string &name : variables) {
    Json elements = elementsOfValue(observed.at("variables").at(name));
    result[name] = isScalar(name) ? elements.at(0) : elements;
  }
  if (expected.contains("replica_id_and_n")) {
    result["replica_id_and_n"] = Json::array();
    for (size_t i = 0; i < 2; ++i)
      result["replica_id_and_n"].push_back(
          elementsOfValue(
              observed.at("outputs").at(one.observe.at(fetched.size() + i)))
              .at(0));
  }
  return result;
}

} // namespace

std::vector<ConfigurationResult> runSchedule(const Json &json) {
  try {
    ScheduledCase scheduled(json);
    auto describe = [&](const Case &one, const Program &program,
                        const std::vector<RunResult> &runs) {
      return scheduled.describe(one, program, runs);
    };
    // One worker, those of the case, and more of them than there are steps.
    std::vector<unsigned> workers = {
        1, json.at("workers").get<unsigned>(),
        static_cast<unsigned>(scheduled.inputs().size()) + 1};
    return executeScheduled(scheduled.withProgram(), describe,
                            scheduled.inputs(), workers);
  } catch (const CaseError &error) {
    return {{"front end", runtime::invalidArgument(error.what())}};
  }
}

} // namespace lockstep::conformance::driver

//===- Hazards.cpp - programs that must be rejected -----------------------===//
//
// Programs whose replicas issue different collectives, or with operands that do
// not match; and one whose arguments are not a list.
//
//===----------------------------------------------------------------------===//

#include "test/conformance/driver/ProceduralPrograms.h"
#include "test/conformance/driver/Statements.h"

namespace lockstep::conformance::driver {

namespace {

Json tensorOfOnes(std::vector<int64_t> shape, const char *dtype = "f32") {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return {{"dtype", dtype},
          {"shape", shape},
          {"data", std::vector<int64_t>(count, 1)}};
}

Json collective(const char *op, const char *value, const char *out,
                const char *reduceOp = "SUM") {
  Json statement = {{"op", op}, {"value", value}, {"out", out}};
  if (std::string_view(op) == "all_gather")
    statement["axis"] = 0;
  else
    statement["reduce_op"] = reduceOp;
  return statement;
}

/// The values and commands of replica 0, and those of the others.
struct Hazard {
  const char *description;
  Json firstValue, otherValue;
  Json first, others;
};

std::vector<Hazard> hazards() {
  Json two = tensorOfOnes({2}), matrix = tensorOfOnes({2, 2});
  Json sumX = collective("all_reduce", "x", "y"),
       gatherX = collective("all_gather", "x", "y");
  Json sumOther = collective("all_reduce", "other", "z");
  Json nothing = {{"op", "set"}, {"a", "x"}, {"out", "y"}};
  auto both = [](const Json &statement) { return Json::array({statement}); };
  return {
      {"missing", two, two, both(sumX), both(nothing)},
      {"op_mismatch", two, two, both(sumX),
       both(collective("all_reduce", "x", "y", "MEAN"))},
      {"gather_vs_reduce", two, two, both(sumX), both(gatherX)},
      {"order_same_shape", two, two, Json::array({sumX, sumOther}),
       Json::array({sumOther, sumX})},
      {"order", matrix, matrix, Json::array({sumX, sumOther}),
       Json::array({sumOther, sumX})},
      {"order_different_shape", matrix, matrix, Json::array({sumX, sumOther}),
       Json::array({sumOther, sumX})},
      {"shape", two, tensorOfOnes({1}), both(sumX), {}},
      {"rank", two, matrix, both(sumX), {}},
      {"dtype", two, tensorOfOnes({2}, "i32"), both(sumX), {}},
      {"gather_shape", matrix, tensorOfOnes({2, 1}), both(gatherX), {}},
      {"gather_rank", matrix, two, both(gatherX), {}},
      {"gather_dtype", two, tensorOfOnes({2}, "i32"), both(gatherX), {}},
  };
}

Json programOf(const Hazard &hazard, Json json) {
  Json body = hazard.first;
  if (!hazard.others.empty())
    body = Json::array({{{"op", "static_if_replica"},
                         {"ids", {0}},
                         {"then", hazard.first},
                         {"else", hazard.others}}});
  Json args = {"x", "other"};
  json["program"] = Json::array({{{"op", "run"},
                                  {"args", args},
                                  {"params", args},
                                  {"fn", body},
                                  {"returns", "y"},
                                  {"out", "r"}}});
  for (int64_t replica = 0; replica < json.at("replicas").get<int64_t>();
       ++replica) {
    json["inputs"]["x"]["per_replica"].push_back(
        replica == 0 ? hazard.firstValue : hazard.otherValue);
    json["inputs"]["other"]["per_replica"].push_back(tensorOfOnes({2}));
  }
  json["observe"] = Json::array({"r"});
  return json;
}

Json observeFirstWorker(const Case &one, const Program &program,
                        const std::vector<RunResult> &runs) {
  return observe(one, program, runs.front(), /*worker=*/0);
}

} // namespace

std::vector<ConfigurationResult> runHazard(const Json &one) {
  std::string description = one.at("description").get<std::string>();
  for (const Hazard &hazard : hazards())
    if (description == hazard.description)
      return execute(programOf(hazard, one), observeFirstWorker);
  return {{"front end", runtime::unsupported(fmt::format(
                            "unsupported: hazard '{}'", description))}};
}

std::vector<ConfigurationResult> runWithArguments(const Json &one) {
  std::string args = one.at("args").get<std::string>();
  if (!args.starts_with("a bare tensor"))
    return {{"front end", runtime::unsupported(fmt::format(
                              "unsupported: arguments '{}'", args))}};
  Json json = one;
  json["program"] = Json::array({{{"op", "run"},
                                  {"args", {{"const", tensorOfOnes({})}}},
                                  {"params", Json::array({"x"})},
                                  {"fn", Json::array()},
                                  {"returns", "x"},
                                  {"out", "r"}}});
  json["observe"] = Json::array({"r"});
  return execute(json, observeFirstWorker);
}

} // namespace lockstep::conformance::driver

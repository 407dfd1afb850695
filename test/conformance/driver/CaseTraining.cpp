//===- CaseTraining.cpp - Training loops ----------------------------------===//
//
// One step of the loop is a program of the case language, executed once a step
// on the rows of that step. A case is executed with its own strategy and, since
// the results must be the same, with all that can have as many replicas.
//
//===----------------------------------------------------------------------===//

#include "test/conformance/ProceduralValue.h"
#include "test/conformance/driver/ProceduralPrograms.h"
#include "test/conformance/driver/Statements.h"

#include "runtime/data/Distribution.h"

#include <map>
#include <regex>

namespace lockstep::conformance::driver {

namespace {

using Rows = std::vector<uint64_t>;

class TrainingCase {
public:
  explicit TrainingCase(const Json &json)
      : json(json), replicas(json.at("replicas").get<unsigned>()) {
    for (const auto &[name, value] : json.at("init").items())
      parameters.push_back(name);
  }

  /// The case with a program, without inputs.
  Json withProgram() const;
  /// The inputs of every step.
  std::vector<Json> inputs() const;
  /// Losses by step, and the final values of variables.
  Json describe(const Case &one, const Program &program,
                const std::vector<RunResult> &runs) const;

private:
  std::string model() const { return json.at("model").get<std::string>(); }
  bool isEmbedding() const { return model() == "embedding_sum"; }
  bool hasMomentum() const { return json.contains("momentum"); }
  /// Replicas have rows of their own, the same in each step, and the loss is
  /// the mean of theirs; otherwise shares of a global batch.
  bool hasFixedRows() const { return !json.contains("global_batch"); }
  const char *reduceOp() const { return hasFixedRows() ? "MEAN" : "SUM"; }
  double rate() const { return json.at("learning_rate").get<double>(); }
  bool has(const std::string &parameter) const {
    return json.at("init").contains(parameter);
  }
  static std::string velocity(const std::string &parameter) {
    return parameter + "_velocity";
  }

  std::vector<Rows> rowsOfStep(uint64_t step) const;
  uint64_t rowCount() const {
    return json.at("data").begin()->at("shape").at(0).get<uint64_t>();
  }

  std::string product(Statements &body, const std::string &a,
                      const std::string &weights) const;
  std::string prediction(Statements &body) const;
  std::string squaredErrors(Statements &body,
                            const std::string &predicted) const;
  std::string loss(Statements &body, const std::string &predicted) const;
  void descend(Statements &body, const std::string &parameter,
               const std::string &gradient) const;
  void updateAll(Statements &merge,
                 const std::vector<std::string> &gradients) const;
  std::string trainDense(Statements &body) const;
  std::string trainEmbedding(Statements &body) const;

  const Json &json;
  unsigned replicas;
  std::vector<std::string> parameters;
};

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

std::vector<Rows> TrainingCase::rowsOfStep(uint64_t step) const {
  std::vector<Rows> rows(replicas);
  if (hasFixedRows()) {
    // "replica 0 rows 0..3, replica 1 rows 4..5"
    std::string text = json.at("algorithm").at(0).get<std::string>();
    static const std::regex range(R"(replica (\d+) rows (\d+)\.\.(\d+))");
    for (std::sregex_iterator at(text.begin(), text.end(), range), end;
         at != end; ++at)
      for (uint64_t row = std::stoull((*at)[2]); row <= std::stoull((*at)[3]);
           ++row)
        rows.at(std::stoull((*at)[1])).push_back(row);
    return rows;
  }
  uint64_t batch = json.at("global_batch").get<uint64_t>(),
           row = batch * step % rowCount();
  std::vector<uint64_t> shares =
      runtime::batchSizesForWorker(batch, 1, replicas, 0);
  for (unsigned replica = 0; replica < replicas; ++replica)
    for (uint64_t i = 0; i < shares[replica] && row < rowCount(); ++i)
      rows[replica].push_back(row++);
  return rows;
}

std::vector<Json> TrainingCase::inputs() const {
  std::vector<Json> steps;
  for (uint64_t step = 0; step < json.at("steps").get<uint64_t>(); ++step) {
    std::vector<Rows> rows = rowsOfStep(step);
    Json &inputs = steps.emplace_back(Json::object());
    for (const auto &[name, data] : json.at("data").items()) {
      Expected<CaseTensor> tensor = tensorOf(data);
      if (!tensor)
        throw CaseError(tensor.status().message());
      for (const Rows &mine : rows)
        inputs[name]["per_replica"].push_back(takeRows(*tensor, mine).toJson());
    }
  }
  return steps;
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// `a @ weights`, where the weights are a matrix or a vector.
std::string TrainingCase::product(Statements &body, const std::string &a,
                                  const std::string &weights) const {
  if (json.at("init").at(weights).at("shape").size() == 1)
    return body.sum(body.binary("mul", a, weights), 1);
  return body.binary("matmul", a, weights);
}

std::string TrainingCase::prediction(Statements &body) const {
  if (model().starts_with("linreg")) {
    std::string result = product(body, "x", "w");
    return has("b") ? body.binary("add", result, "b") : result;
  }
  if (model().starts_with("mlp_tanh")) {
    std::string h = "x";
    for (unsigned layer = 1; has(fmt::format("w{}", layer)); ++layer) {
      h = body.binary("add",
                      product(body, layer == 1 ? h : body.unary("tanh", h),
                              fmt::format("w{}", layer)),
                      fmt::format("b{}", layer));
    }
    return h;
  }
  unsupported("model '{}'", model());
}

std::string TrainingCase::squaredErrors(Statements &body,
                                        const std::string &predicted) const {
  return body.unary("square", body.binary("sub", predicted, "y"));
}

std::string TrainingCase::loss(Statements &body,
                               const std::string &predicted) const {
  std::string errors = squaredErrors(body, predicted);
  return hasFixedRows()
             ? body.unary("reduce_mean", errors)
             : body.scaled(body.sum(errors),
                           1 / json.at("global_batch").get<double>());
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// In replica context: the update of all replicas by a reduced gradient.
void TrainingCase::descend(Statements &body, const std::string &parameter,
                           const std::string &gradient) const {
  std::string change = body.scaled(gradient, rate());
  if (!hasMomentum())
    return body.perform("assign_sub", {{"var", parameter}, {"value", change}});
  std::string next = body.binary(
      "sub",
      body.scaled(velocity(parameter), json.at("momentum").get<double>()),
      change);
  body.perform("assign", {{"var", velocity(parameter)}, {"value", next}});
  body.perform("assign_add", {{"var", parameter}, {"value", next}});
}

/// In cross-replica context: the same with the gradients of the replicas.
void TrainingCase::updateAll(Statements &merge,
                             const std::vector<std::string> &gradients) const {
  auto update = [&](const std::string &variable, const std::string &argument,
                    const Statements &fn) {
    merge.perform("update", {{"var", variable},
                             {"args", {argument}},
                             {"params", {"v", "g"}},
                             {"fn", fn.statements()}});
  };
  for (size_t i = 0; i < gradients.size(); ++i) {
    const std::string &parameter = parameters[i];
    std::string reduced = merge.add("reduce_to", {{"reduce_op", reduceOp()},
                                                  {"value", gradients[i]},
                                                  {"destinations", parameter}});
    Statements fn("u");
    if (isEmbedding()) {
      fn.perform("scatter_sub", {{"var", "v"}, {"slices", "g"}});
      update(parameter, reduced, fn);
      continue;
    }
    std::string change = fn.scaled("g", rate());
    if (!hasMomentum()) {
      fn.perform("assign_sub", {{"var", "v"}, {"value", change}});
      update(parameter, reduced, fn);
      continue;
    }
    fn.perform(
        "assign",
        {{"var", "v"},
         {"value",
          fn.binary("sub", fn.scaled("v", json.at("momentum").get<double>()),
                    change)}});
    update(velocity(parameter), reduced, fn);
    Statements move("m");
    move.perform("assign_add", {{"var", "v"}, {"value", "g"}});
    update(parameter, merge.add("read", {{"var", velocity(parameter)}}), move);
  }
}

/// Calls `updateAll` from replica context.
static Json mergeCall(const std::vector<std::string> &gradients,
                      const std::vector<std::string> &params,
                      const Statements &merge) {
  return {{"args", gradients},
          {"params", params},
          {"fn", merge.statements()},
          {"returns", nullptr}};
}

std::string TrainingCase::trainDense(Statements &body) const {
  Statements forward("f");
  std::string replicaLoss = loss(forward, prediction(forward));
  std::vector<std::string> gradients, params, reduced;
  for (const std::string &parameter : parameters) {
    gradients.push_back(parameter + "_gradient");
    params.push_back(parameter + "_gradients");
    reduced.push_back(parameter + "_reduced");
  }
  body.perform("gradient",
               {{"wrt", parameters},
                {"body", forward.statements()},
                {"of", replicaLoss}},
               gradients);
  if (json.value("route", "replica_assign") == "merge_update") {
    Statements merge("c");
    updateAll(merge, params);
    body.perform("merge_call", mergeCall(gradients, params, merge));
    return replicaLoss;
  }
  body.perform("all_reduce", {{"reduce_op", reduceOp()}, {"value", gradients}},
               reduced);
  for (size_t i = 0; i < parameters.size(); ++i)
    descend(body, parameters[i], reduced[i]);
  return replicaLoss;
}

/// The gradient of a table has only the rows that were looked up.
std::string TrainingCase::trainEmbedding(Statements &body) const {
  const Json &shape = json.at("init").at("table").at("shape");
  Json numbers = {{"dtype", json.at("data").at("ids").at("dtype")},
                  {"shape", {1, shape.at(0)}},
                  {"data", Json::array()}};
  for (int64_t row = 0; row < shape.at(0).get<int64_t>(); ++row)
    numbers["data"].push_back(row);
  std::string column = body.add("expand_dims", {{"a", "ids"}, {"axis", 1}});
  std::string selection = body.add(
      "cast", {{"a", body.binary("equal", column, {{"const", numbers}})},
               {"dtype", "f32"}});
  std::string rows = body.binary("matmul", selection, "table");

  Statements forward("f");
  std::string replicaLoss = loss(forward, forward.sum(rows, 1));
  body.perform(
      "gradient",
      {{"wrt", {rows}}, {"body", forward.statements()}, {"of", replicaLoss}},
      Json::array({"gradient"}));
  std::string slices =
      body.add("indexed_slices", {{"values", body.scaled("gradient", rate())},
                                  {"indices", "ids"},
                                  {"dense_shape", shape}});
  Statements merge("c");
  updateAll(merge, {"slices"});
  body.perform("merge_call", mergeCall({slices}, {"slices"}, merge));
  body.perform("assign_add",
               {{"var", "count"}, {"value", body.sum(selection)}});
  return replicaLoss;
}

Json TrainingCase::withProgram() const {
  Statements body("t");
  std::string replicaLoss =
      isEmbedding() ? trainEmbedding(body) : trainDense(body);
  std::vector<std::string> names;
  for (const auto &[name, data] : json.at("data").items())
    names.push_back(name);

  Statements program("p");
  auto reduced = [&](const std::string &out, const Json &axis,
                     const Statements &fn, const std::string &returned) {
    std::string each = program.add("run", {{"args", names},
                                           {"params", names},
                                           {"fn", fn.statements()},
                                           {"returns", returned}});
    program.perform(
        "reduce", {{"reduce_op", reduceOp()}, {"value", each}, {"axis", axis}},
        out);
  };
  Json result = json;
  reduced("loss", nullptr, body, replicaLoss);
  result["observe"] = Json::array({"loss"});
  if (hasFixedRows()) {
    // The mean over all rows, not of the means.
    Statements after("a");
    std::string errors = squaredErrors(after, prediction(after));
    reduced("error", 0, after, errors);
    result["observe"].push_back("error");
  }

  result["variables"] = Json::array();
  for (const auto &[name, initial] : json.at("init").items()) {
    result["variables"].push_back(
        {{"name", name}, {"init", initial}, {"aggregation", "MEAN"}});
    if (!hasMomentum())
      continue;
    Json zeros = initial;
    std::fill(zeros["data"].begin(), zeros["data"].end(), 0.0);
    result["variables"].push_back(
        {{"name", velocity(name)}, {"init", zeros}, {"aggregation", "MEAN"}});
  }
  if (isEmbedding()) {
    result["variables"].push_back(
        {{"name", "count"},
         {"init",
          {{"dtype", "f32"}, {"shape", Json::array()}, {"data", {0.0}}}},
         {"synchronization", "ON_READ"},
         {"aggregation", "SUM"}});
    program.perform("read_var", {{"var", "count"}}, "count_in_all");
    result["observe"].push_back("count_in_all");
  }
  result["program"] = program.statements();
  result["observe_vars"] = parameters;
  return result;
}

Json TrainingCase::describe(const Case &one, const Program &program,
                            const std::vector<RunResult> &runs) const {
  Json result = Json::object(), last;
  for (const RunResult &run : runs) {
    last = observe(one, program, run, /*worker=*/0);
    result["losses"].push_back(last.at("outputs").at("loss").at("data").at(0));
    if (hasFixedRows())
      result["post_step_mean_sq_err_axis0"].push_back(
          last.at("outputs").at("error").at("data").at(0));
  }
  for (const std::string &parameter : parameters) {
    const Json &copies = last.at("variables").at(parameter).at("components");
    result[parameter] = copies.at(0).at("data");
    for (const Json &copy : copies)
      if (copy != copies.at(0))
        throw CaseError(fmt::format("the copies of variable '{}' are not equal",
                                    parameter));
  }
  if (isEmbedding())
    result["count"] = last.at("outputs").at("count_in_all").at("data");
  return result;
}

} // namespace

std::vector<ConfigurationResult> runTraining(const Json &json) {
  std::vector<ConfigurationResult> results;
  std::map<std::string, int64_t> serversByKind = {
      {json.at("strategy").at("kind").get<std::string>(),
       json.at("strategy").value("servers", 0)},
      {"mirrored", 0},
      {"central_storage", 0},
      {"parameter_server_sync", 2}};
  try {
    TrainingCase training(json);
    Json one = training.withProgram();
    for (const auto &[kind, servers] : serversByKind) {
      one["strategy"]["kind"] = kind;
      one["strategy"]["servers"] = servers;
      auto describe = [&](const auto &...given) {
        return training.describe(given...);
      };
      for (auto &[configuration, result] :
           execute(one, describe, training.inputs()))
        results.push_back({kind + ", " + configuration, std::move(result)});
    }
  } catch (const CaseError &error) {
    results.push_back({"front end", runtime::invalidArgument(error.what())});
  }
  return results;
}

} // namespace lockstep::conformance::driver

//===- ProceduralPipelines.cpp - cases of data made by functions ----------===//

#include "ProceduralData.h"

#include "test/conformance/InputPipelines.h"

#include <fmt/format.h>

namespace lockstep::conformance {

using namespace runtime;

namespace {

/// Whole numbers, or expressions with these values.
Expected<int64_t> integerOf(const json &value,
                            const Environment &environment = {}) {
  return value.is_string()
             ? evaluateInteger(value.get<std::string>(), environment)
             : Expected<int64_t>(value.get<int64_t>());
}

/// Contexts in the form that the case has them in: {"num_input_pipelines": 2,
/// ...} or [2, 0, 2].
json contextToJson(const InputContext &context, bool asList) {
  if (asList)
    return {context.pipelines, context.pipeline, context.replicas};
  return {{"num_input_pipelines", context.pipelines},
          {"input_pipeline_id", context.pipeline},
          {"num_replicas_in_sync", context.replicas}};
}

/// The result of a case's function for a context: batches of rows.
Expected<std::vector<CaseTensor>> makePipeline(const json &dataset,
                                               const InputContext &context) {
  Environment environment;
  for (auto [name, value] :
       {std::pair("num_input_pipelines", context.pipelines),
        std::pair("input_pipeline_id", context.pipeline),
        std::pair("pipeline_id", context.pipeline),
        std::pair("num_replicas_in_sync", context.replicas)})
    environment.values[name] = hostValue(value);
  environment.functions["per_replica"] =
      [context](
          const std::vector<CaseValue> &arguments) -> Expected<CaseValue> {
    if (arguments.size() != 1 || !arguments[0].host.is_number_integer())
      return invalidArgument("expected per_replica(BATCH)");
    Expected<uint64_t> size =
        context.perReplicaBatchSize(arguments[0].host.get<uint64_t>());
    return size ? Expected<CaseValue>(hostValue(*size)) : size.status();
  };

  Expected<CaseValue> batches = hostValue(0);
  if (dataset.is_string()) {
    batches = evaluate(dataset.get<std::string>(), environment);
  } else {
    Expected<CaseValue> rows = rowsOfDataset(dataset, environment);
    Expected<int64_t> size =
        integerOf(dataset.at("per_replica_batch"), environment);
    if (!rows || !size)
      return rows ? size.status() : rows.status();
    environment.values["rows"] = *rows;
    batches = evaluate(fmt::format("rows.batch({})", *size), environment);
  }
  if (!batches)
    return batches.status();
  std::vector<CaseTensor> result;
  for (CaseValue &batch : batches->members)
    result.push_back(std::move(batch.tensor));
  if (result.empty())
    return invalidArgument(
        fmt::format("expected batches, found {}", batches->toJson().dump()));
  return result;
}

} // namespace

Expected<json> distributeFromFunction(const json &testCase) {
  return readingCase([&]() -> Expected<json> {
    Expected<Cluster> cluster = clusterOf(testCase);
    Expected<ReplicationMode> mode = replicationMode(testCase);
    for (const Status &status : {cluster.status(), mode.status()})
      LOCKSTEP_RETURN_IF_ERROR(status);
    bool workersAreAlone =
        testCase.value("strategy", json::object()).value("kind", "") ==
        "parameter_server";
    if (workersAreAlone && *mode == ReplicationMode::perReplica)
      return invalidArgument("expected one pipeline for each worker of a "
                             "parameter server, found the mode PER_REPLICA "
                             "[E_UNSUPPORTED_INPUT_OPTION]");
    std::vector<InputContext> contexts =
        workersAreAlone ? inputContextsOfLoneWorkers(cluster->workers,
                                                     cluster->replicasPerWorker)
                        : inputContexts(*mode, cluster->workers,
                                        cluster->replicasPerWorker);
    std::vector<std::vector<CaseTensor>> pipelines;
    std::vector<uint64_t> counts;
    for (const InputContext &context : contexts) {
      Expected<std::vector<CaseTensor>> batches =
          makePipeline(testCase.at("dataset"), context);
      if (!batches)
        return batches.status();
      counts.push_back(batches->size());
      pipelines.push_back(std::move(*batches));
    }

    uint64_t steps = pipelineSteps(*mode, cluster->replicasPerWorker, counts);
    return forEachWorker(
        testCase, cluster->workers, [&](unsigned worker) -> Expected<json> {
          const json &expected =
              testCase.contains("expected_per_worker")
                  ? testCase.at("expected_per_worker").at(worker)
                  : testCase.at("expected");
          const json &form = expected.value("ok", json::object());
          const char *key = form.contains("context") ? "context" : "contexts";
          bool asList = !form.value(key, json::array()).empty() &&
                        form[key][0].is_array();

          json result = {{key, json::array()}, {"steps", json::array()}};
          size_t own = contexts.size() / cluster->workers;
          for (size_t pipeline = worker * own; pipeline < (worker + 1) * own;
               ++pipeline)
            result[key].push_back(contextToJson(contexts[pipeline], asList));
          for (uint64_t step = 0; step < steps; ++step) {
            json values = json::array();
            for (unsigned replica = 0; replica < cluster->replicasPerWorker;
                 ++replica) {
              PipelineElement place = elementFor(
                  *mode, cluster->replicasPerWorker, step, worker, replica);
              const std::vector<CaseTensor> &batches =
                  pipelines[place.pipeline];
              values.push_back((place.element < batches.size()
                                    ? batches[place.element]
                                    : takeRows(batches.front(), {}))
                                   .toJson());
            }
            result["steps"].push_back(std::move(values));
          }
          return result;
        });
  });
}

Expected<json> perReplicaBatchSize(const json &testCase) {
  return readingCase([&]() -> Expected<json> {
    const json &arguments = testCase.at("args");
    Expected<uint64_t> size =
        InputContext{1, 0, arguments.at("num_replicas_in_sync")}
            .perReplicaBatchSize(arguments.at("global_batch"));
    return size ? Expected<json>(json{{"per_replica", *size}}) : size.status();
  });
}

Expected<json> distributeValues(const json &testCase) {
  return readingCase([&]() -> Expected<json> {
    Expected<Cluster> cluster = clusterOf(testCase);
    if (!cluster)
      return cluster.status();
    std::string kind =
        testCase.value("strategy", json::object()).value("kind", "mirrored");
    bool wraps = kind != "default" && kind != "one_device";
    return forEachWorker(
        testCase, cluster->workers, [&](unsigned worker) -> Expected<json> {
          auto values = valuesFromFunction(
              worker, cluster->replicasPerWorker, cluster->replicas(),
              [&](ValueContext context) {
                Environment environment;
                for (const char *name :
                     {"replica_id", "replica_id_in_sync_group"})
                  environment.values[name] = hostValue(context.replica);
                environment.values["num_replicas_in_sync"] =
                    hostValue(context.replicas);
                return evaluate(testCase.at("value_fn").get<std::string>(),
                                environment);
              });
          json results = json::array();
          for (const Expected<CaseValue> &value : values) {
            if (!value)
              return value.status();
            results.push_back(value->toJson());
          }
          // A value that belongs to no single replica depends on its Python
          // class.
          std::string type = testCase.value("expected", json::object())
                                 .value("ok", json::object())
                                 .value("type", "PerReplica");
          if (wraps || type == "PerReplica")
            type = wraps ? "PerReplica" : "plain";
          return json{{"type", type}, {"local_results", results}};
        });
  });
}

} // namespace lockstep::conformance

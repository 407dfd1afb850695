//===- ProceduralDataset.cpp - cases of distributed data sets -------------===//

#include "ProceduralData.h"

#include <fmt/format.h>

namespace lockstep::conformance {

using namespace runtime;

namespace {

Expected<ShardPolicy> shardPolicy(const json &testCase) {
  std::string policy = testCase.value("auto_shard_policy",
                                      testCase.value("options", json::object())
                                          .value("auto_shard_policy", "AUTO"));
  for (auto [name, value] : {std::pair("AUTO", ShardPolicy::automatic),
                             std::pair("DATA", ShardPolicy::data),
                             std::pair("FILE", ShardPolicy::file),
                             std::pair("OFF", ShardPolicy::off),
                             std::pair("HINT", ShardPolicy::hint)})
    if (policy == name)
      return value;
  return invalidArgument(fmt::format("expected the policy AUTO, DATA, FILE, "
                                     "OFF or HINT, found '{}' [E_OPTION_VALUE]",
                                     policy));
}

uint64_t countRows(const CaseValue &rows) {
  return rows.isNest() ? countRows(rows.members.front())
                       : static_cast<uint64_t>(rows.tensor.shape.front());
}

/// Workers of parameter servers make their own data; the program that
/// coordinates them has none to iterate over.
bool isCoordinator(const json &testCase) {
  return testCase.value("category", "") == "parameter_server" ||
         testCase.value("strategy", json::object()).value("kind", "") ==
             "parameter_server";
}

} // namespace

Expected<json> distributeDataset(const json &testCase) {
  return readingCase([&]() -> Expected<json> {
    if (isCoordinator(testCase))
      return invalidArgument(
          "expected a worker that iterates over its own data set, found the "
          "coordinating program [E_CONTEXT]");
    Expected<Cluster> cluster = clusterOf(testCase);
    Expected<ReplicationMode> mode = replicationMode(testCase);
    Expected<ShardPolicy> policy = shardPolicy(testCase);
    for (const Status &status :
         {cluster.status(), mode.status(), policy.status()})
      LOCKSTEP_RETURN_IF_ERROR(status);
    // A case that is about options alone names no data: any will do.
    json dataset =
        testCase.value("dataset", json{{"range", 2 * cluster->replicas()},
                                       {"global_batch", cluster->replicas()}});
    Expected<CaseValue> rows = rowsOfDataset(dataset);
    if (!rows)
      return rows.status();

    DistributionOptions options;
    if (dataset.contains("global_batch"))
      options.globalBatch = dataset.at("global_batch").get<uint64_t>();
    options.workers = cluster->workers;
    options.replicasPerWorker = cluster->replicasPerWorker;
    options.policy = *policy;
    options.mode = *mode;
    options.dropRemainder = dataset.value("drop_remainder", false);
    options.rows = countRows(*rows);
    if (dataset.contains("text_files"))
      options.fileRows.assign(dataset.at("text_files").get<size_t>(),
                              dataset.at("lines_per_file").get<uint64_t>());
    Expected<Distribution> distribution = Distribution::create(options);
    if (!distribution)
      return distribution.status();
    return forEachWorker(
        testCase, cluster->workers, [&](unsigned worker) -> Expected<json> {
          return json{{"steps", stepsOfWorker(*distribution, *rows, worker,
                                              cluster->replicasPerWorker)}};
        });
  });
}

Expected<json> batchSizes(const json &testCase) {
  return readingCase([&]() -> Expected<json> {
    json table = json::array();
    for (json row : testCase.at("expected").at("ok").at("table")) {
      row["batch_sizes"] = batchSizesForWorker(
          row.at("global_batch"), row.at("num_workers"),
          row.at("replicas_per_worker"), row.at("worker_index"));
      table.push_back(std::move(row));
    }
    return json{{"table", table}};
  });
}

} // namespace lockstep::conformance

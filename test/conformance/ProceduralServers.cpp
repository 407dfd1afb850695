//===- ProceduralServers.cpp - cases of parameter servers -----------------===//

#include "ProceduralCases.h"
#include "ProceduralPartitioner.h"

#include "runtime/model/ServerCluster.h"

#include <fmt/format.h>

namespace lockstep::conformance {

using namespace runtime;

namespace {

/// `{"fixed": 5}`, `{"min": {"min_shard_bytes": 16}}` or `"returns [1,2]"`, for
/// variables of f32; null: none.
Expected<std::vector<int64_t>> partitionsOf(const json &partitioner,
                                            const std::vector<int64_t> &shape) {
  std::vector<int64_t> whole(shape.size(), 1);
  if (partitioner.is_null())
    return whole;
  if (partitioner.is_string()) {
    std::string text = partitioner.get<std::string>(), prefix = "returns ";
    if (!text.starts_with(prefix))
      return unsupported(
          fmt::format("expected 'returns' and a list, found '{}'", text));
    return json::parse(text.substr(prefix.size())).get<std::vector<int64_t>>();
  }
  const json &arguments = partitioner.begin().value();
  Expected<Partitioner> rule = partitionerOf(
      partitioner.begin().key(),
      arguments.is_number() ? json{{"num_shards", arguments}} : arguments);
  if (!rule)
    return rule.status();
  return shape.empty() ? whole : rule->partitions(shape, sizeof(float));
}

Expected<Layout> layoutOf(const json &testCase) {
  Expected<ServerCluster> cluster = ServerCluster::create(
      testCase.value("workers", 1u), testCase.at("num_ps"));
  if (!cluster)
    return cluster.status();
  return Layout(*cluster);
}

Expected<std::vector<PlacedShard>> place(Layout &layout, const json &testCase,
                                         const std::vector<int64_t> &shape) {
  Expected<std::vector<int64_t>> partitions =
      partitionsOf(testCase.at("partitioner"), shape);
  if (!partitions)
    return partitions.status();
  return layout.place(shape, *partitions);
}

Status clusterStatus(const json &jobs) {
  return ServerCluster::create(jobs.value("worker", 0u), jobs.value("ps", 0u))
      .status();
}

} // namespace

Expected<json> layoutOfServers(const json &testCase) {
  return readingCase([&]() -> Expected<json> {
    Expected<Layout> layout = layoutOf(testCase);
    if (!layout)
      return layout.status();
    json variables = json::array();
    // A case that is about the partitioner alone names no variables: one of two
    // axes will do.
    for (const auto &shape :
         testCase.value("shapes", std::vector<std::vector<int64_t>>{{4, 4}})) {
      Expected<std::vector<PlacedShard>> shards =
          place(*layout, testCase, shape);
      if (!shards)
        return shards.status();
      json &variable = variables.emplace_back(
          json{{"shape", shape}, {"sharded", shards->size() > 1}});
      for (const PlacedShard &shard : *shards)
        variable["shards"].push_back(
            {{"shape", shard.shape}, {"ps", shard.server}});
    }
    return json{{"variables", variables}, {"num_replicas_in_sync", 1}};
  });
}

/// Scalars `a` and `b`, and `c` beside `b`, which could be split.
Expected<json> colocateOnServers(const json &testCase) {
  return readingCase([&]() -> Expected<json> {
    Expected<Layout> layout = layoutOf(testCase);
    if (!layout)
      return layout.status();
    Expected<std::vector<PlacedShard>> a = place(*layout, testCase, {}),
                                       b = place(*layout, testCase, {});
    for (const Status &status : {a.status(), b.status()})
      LOCKSTEP_RETURN_IF_ERROR(status);
    std::vector<int64_t> shape = {13, 2};
    PlacedShard c = Layout::placeBeside(b->front(), shape);
    return json{{"a_ps", a->front().server},
                {"b_ps", b->front().server},
                {"c_sharded", c.shape != shape},
                {"c_ps", c.server}};
  });
}

Expected<json> constructServers(const json &testCase) {
  return readingCase([&]() -> Expected<json> {
    LOCKSTEP_RETURN_IF_ERROR(clusterStatus(testCase.at("cluster")));
    return json::object();
  });
}

/// The cluster is in the environment: `{"TF_CONFIG": {"cluster": {"ps": [...],
/// "worker": [...]}}}`.
Expected<json> constructServersFromEnvironment(const json &testCase) {
  return readingCase([&]() -> Expected<json> {
    json config = testCase.at("env").value("TF_CONFIG", json::object());
    if (config.is_string())
      config = json::parse(config.get<std::string>());
    json jobs = json::object(),
         cluster = config.value("cluster", json::object());
    for (const auto &[job, tasks] : cluster.items())
      jobs[job] = tasks.size();
    LOCKSTEP_RETURN_IF_ERROR(clusterStatus(jobs));
    return json::object();
  });
}

} // namespace lockstep::conformance

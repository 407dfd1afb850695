//===- ProceduralData.cpp - shared by cases of input ----------------------===//

#include "ProceduralData.h"

#include <fmt/format.h>

namespace lockstep::conformance {

using namespace runtime;

namespace {

/// 14, or "FIRST .. LAST", where "+COUNT" in the place of LAST counts from
/// FIRST.
Expected<CaseTensor> rangeOf(const json &range,
                             const Environment &environment) {
  std::string text =
      range.is_string() ? range.get<std::string>() : "0 .. " + range.dump();
  size_t dots = text.find("..");
  if (dots == std::string::npos)
    text.insert(dots = 0, "0 .. "), dots = 2;
  std::string lastText = text.substr(dots + 2);
  size_t begin = lastText.find_first_not_of(' ');
  bool counts = begin != std::string::npos && lastText[begin] == '+';
  Expected<int64_t> first = evaluateInteger(text.substr(0, dots), environment),
                    last = evaluateInteger(lastText, environment);
  if (!first || !last)
    return first ? last.status() : first.status();
  std::string call =
      fmt::format("range({}, {})", *first, counts ? *first + *last : *last);
  return evaluateTensor(call);
}

using RowsOfReplicas = std::vector<std::vector<uint64_t>>;

/// The nest, with each tensor replaced by the list of its parts for the
/// replicas.
json takeRowsOfReplicas(const CaseValue &rows, const RowsOfReplicas &replicas) {
  json result =
      rows.kind == CaseValue::Kind::dictionary ? json::object() : json::array();
  if (!rows.isNest())
    for (const std::vector<uint64_t> &taken : replicas)
      result.push_back(takeRows(rows.tensor, taken).toJson());
  for (size_t i = 0; i < rows.members.size(); ++i)
    if (rows.kind == CaseValue::Kind::dictionary)
      result[rows.names[i]] = takeRowsOfReplicas(rows.members[i], replicas);
    else
      result.push_back(takeRowsOfReplicas(rows.members[i], replicas));
  return result;
}

} // namespace

Expected<Cluster> clusterOf(const json &testCase) {
  json strategy = testCase.value("strategy", json::object());
  Cluster cluster;
  cluster.workers = strategy.value("workers", 1u);
  unsigned replicas =
      strategy.value("replicas", testCase.value("replicas", cluster.workers));
  Expected<unsigned> each = replicasOfWorker(replicas, cluster.workers);
  if (!each)
    return each.status();
  cluster.replicasPerWorker = *each;
  return cluster;
}

Expected<ReplicationMode> replicationMode(const json &testCase) {
  std::string mode = testCase.value("options", json::object())
                         .value("replication_mode", "PER_WORKER");
  if (mode != "PER_WORKER" && mode != "PER_REPLICA")
    return invalidArgument(
        fmt::format("expected the replication mode PER_WORKER or PER_REPLICA, "
                    "found '{}' [E_OPTION_VALUE]",
                    mode));
  return mode == "PER_WORKER" ? ReplicationMode::perWorker
                              : ReplicationMode::perReplica;
}

Expected<CaseValue> rowsOfDataset(const json &dataset,
                                  const Environment &environment) {
  if (dataset.contains("text_files")) {
    CaseTensor lines{"str", {}, {}};
    for (unsigned file = 0; file < dataset.at("text_files").get<unsigned>();
         ++file)
      for (unsigned line = 0;
           line < dataset.at("lines_per_file").get<unsigned>(); ++line)
        lines.data.push_back(fmt::format("f{}l{}", file, line));
    lines.shape = {static_cast<int64_t>(lines.data.size())};
    return tensorValue(std::move(lines));
  }
  Expected<CaseTensor> range = rangeOf(dataset.at("range"), environment);
  if (!range || !dataset.contains("map"))
    return range ? Expected<CaseValue>(tensorValue(*range)) : range.status();

  Environment mapped = environment;
  mapped.values["x"] = tensorValue(*range);
  std::function<Expected<CaseValue>(const json &)> apply =
      [&](const json &map) -> Expected<CaseValue> {
    if (map.is_string())
      return evaluate(map.get<std::string>(), mapped);
    CaseValue result{.kind = map.is_object() ? CaseValue::Kind::dictionary
                                             : CaseValue::Kind::tuple};
    for (const auto &[name, member] : map.items()) {
      Expected<CaseValue> value = apply(member);
      if (!value)
        return value;
      result.names.push_back(name);
      result.members.push_back(std::move(*value));
    }
    return result;
  };
  return apply(dataset.at("map"));
}

json stepsOfWorker(const Distribution &distribution, const CaseValue &rows,
                   unsigned worker, unsigned replicas) {
  json steps = json::array();
  for (uint64_t step = 0; step < distribution.steps(); ++step) {
    RowsOfReplicas taken(replicas);
    for (unsigned replica = 0; replica < replicas; ++replica) {
      RowRange range = distribution.rows(step, worker, replica);
      for (uint64_t row = 0; row < range.count; ++row)
        taken[replica].push_back(
            distribution.globalRow(worker, range.first + row));
    }
    steps.push_back(takeRowsOfReplicas(rows, taken));
  }
  return steps;
}

} // namespace lockstep::conformance

//===- ProceduralNumpy.cpp - cases of NumPy data --------------------------===//

#include "ProceduralData.h"

#include <fmt/format.h>

#include <regex>

namespace lockstep::conformance {

using namespace runtime;

namespace {

/// A case's value as the runtime's nest of arrays.
Expected<Nest> toNest(const CaseValue &value) {
  if (value.kind == CaseValue::Kind::host)
    return invalidArgument(fmt::format("expected arrays, found {} [E_ARG_TYPE]",
                                       value.host.dump()));
  Nest result;
  if (!value.isNest()) {
    Expected<HostTensor> tensor = toHost(value.tensor);
    if (!tensor)
      return tensor.status();
    result.leaf = std::move(*tensor);
    return result;
  }
  result.kind = value.kind == CaseValue::Kind::list    ? Nest::Kind::list
                : value.kind == CaseValue::Kind::tuple ? Nest::Kind::tuple
                                                       : Nest::Kind::dictionary;
  result.names = value.names;
  for (const CaseValue &member : value.members) {
    Expected<Nest> converted = toNest(member);
    if (!converted)
      return converted;
    result.members.push_back(std::move(*converted));
  }
  return result;
}

Expected<CaseValue> fromNest(const Nest &nest) {
  if (nest.kind == Nest::Kind::leaf) {
    Expected<CaseTensor> tensor = fromHost(nest.leaf);
    return tensor ? Expected<CaseValue>(tensorValue(std::move(*tensor)))
                  : tensor.status();
  }
  CaseValue result{.kind = nest.kind == Nest::Kind::dictionary
                               ? CaseValue::Kind::dictionary
                               : CaseValue::Kind::tuple};
  result.names = nest.names;
  for (const Nest &member : nest.members) {
    Expected<CaseValue> converted = fromNest(member);
    if (!converted)
      return converted;
    result.members.push_back(std::move(*converted));
  }
  return result;
}

/// The shape of one row of each tensor.
json rowShapes(const CaseValue &rows) {
  if (!rows.isNest())
    return std::vector<int64_t>(rows.tensor.shape.begin() + 1,
                                rows.tensor.shape.end());
  json shapes =
      rows.kind == CaseValue::Kind::dictionary ? json::object() : json::array();
  for (size_t i = 0; i < rows.members.size(); ++i)
    if (rows.kind == CaseValue::Kind::dictionary)
      shapes[rows.names[i]] = rowShapes(rows.members[i]);
    else
      shapes.push_back(rowShapes(rows.members[i]));
  return shapes;
}

} // namespace

Expected<json> makeNumpyDataset(const json &testCase) {
  return readingCase([&]() -> Expected<json> {
    Expected<Cluster> cluster = clusterOf(testCase);
    if (!cluster)
      return cluster.status();
    // The recorded cases all use these two arrays, and not every one of them
    // writes them out.
    Environment environment;
    for (auto [name, text] :
         {std::pair("x", "i64[[1,2],[6,12],[2,4],[5,10],[3,6],[4,8]]"),
          std::pair("y", "i64[5,4,3,2,1,0]")})
      environment.values[name] = *evaluate(text);
    Expected<CaseValue> input =
        evaluate(testCase.at("input").get<std::string>(), environment);
    Expected<Nest> nest = input ? toNest(*input) : input.status();
    nest = nest ? stackLists(std::move(*nest)) : nest;
    Expected<CaseValue> rows = nest ? fromNest(*nest) : nest.status();
    if (!rows)
      return rows.status();

    DistributionOptions options;
    std::smatch batch;
    std::string then = testCase.value("then", "");
    if (std::regex_search(then, batch, std::regex(R"(batch\((\d+)\))")))
      options.globalBatch = std::stoull(batch[1]);
    options.workers = cluster->workers;
    options.replicasPerWorker = cluster->replicasPerWorker;
    options.rows = rowsOf(*nest);
    Expected<Distribution> distribution = Distribution::create(options);
    if (!distribution)
      return distribution.status();
    return forEachWorker(
        testCase, cluster->workers, [&](unsigned worker) -> Expected<json> {
          return json{{"element_shapes", rowShapes(*rows)},
                      {"steps", stepsOfWorker(*distribution, *rows, worker,
                                              cluster->replicasPerWorker)}};
        });
  });
}

} // namespace lockstep::conformance

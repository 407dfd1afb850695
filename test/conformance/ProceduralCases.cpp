//===- ProceduralCases.cpp - cases without a program ----------------------===//

#include "ProceduralCases.h"

#include <fmt/format.h>

namespace lockstep::conformance {

namespace {

constexpr ProceduralKind kinds[] = {
    {"experimental_distribute_dataset", distributeDataset},
    {"distribute_datasets_from_function", distributeFromFunction},
    {"batch_sizes_for_worker", batchSizes},
    {"InputContext.get_per_replica_batch_size", perReplicaBatchSize},
    {"experimental_make_numpy_dataset", makeNumpyDataset},
    {"experimental_distribute_values_from_function", distributeValues},
    {"partitioner", partitionerTable},
    {"group_by_size", groupBySize},
    {"CommunicationOptions.merge", mergeOptions},
    {"ps_variable_layout", layoutOfServers},
    {"ps_colocate", colocateOnServers},
    {"ps_construct", constructServers},
    {"ps_wrapper_construct", constructServersFromEnvironment},
    {"sharded_variable.read", readSharded},
    {"sharded_variable.assign", assignSharded},
    {"sharded_variable.slice", sliceSharded},
    {"sharded_variable.sparse_read", sparseReadSharded},
    {"sharded_variable.lookup", lookupSharded},
    {"sharded_variable.scatter", scatterSharded},
    {"checkpoint_roundtrip", checkpointRoundTrip},
};

/// An error is expected if no worker is expected to get a result.
bool expectsError(const json &testCase) {
  if (!testCase.contains("expected_per_worker"))
    return testCase.value("expected", json::object()).contains("error");
  for (const json &worker : testCase.at("expected_per_worker"))
    if (worker.contains("ok"))
      return false;
  return true;
}

Status judgeError(const json &testCase, const Expected<json> &result) {
  if (result)
    return runtime::invalidArgument("expected an error, found " +
                                    result->dump());
  std::string expected = testCase.value("neutral_error", "");
  if (!expected.empty() && !isOfClass(result.status(), expected))
    return runtime::invalidArgument(fmt::format(
        "expected {}, found '{}'", expected, result.status().message()));
  return Status::success();
}

Status judgeResult(const json &testCase, const Expected<json> &result,
                   double tolerance) {
  if (!result)
    return result.status();
  // Cases that TensorFlow should support but does not: without an expected
  // value, any result is right.
  if (testCase.value("grading", "") == "clean_expected") {
    if (!testCase.contains("clean_expected"))
      return Status::success();
    const json &clean = testCase.at("clean_expected");
    return compareResults(clean.contains("ok") ? clean.at("ok") : clean,
                          *result, tolerance);
  }
  if (!testCase.contains("expected_per_worker"))
    return compareResults(testCase.at("expected").at("ok"), *result, tolerance);
  json expected = json::array();
  for (const json &worker : testCase.at("expected_per_worker"))
    expected.push_back(worker.at("ok"));
  return compareResults(expected, *result, tolerance);
}

} // namespace

std::span<const ProceduralKind> proceduralKinds() { return kinds; }

ProceduralHandler findProcedural(std::string_view op) {
  for (const ProceduralKind &kind : kinds)
    if (kind.op == op)
      return kind.handle;
  return nullptr;
}

Status runProcedural(const json &testCase) {
  ProceduralHandler handle = findProcedural(testCase.value("op", ""));
  if (!handle)
    return runtime::unsupported(
        fmt::format("expected an operation with a handler, found '{}'",
                    testCase.value("op", "")));
  return readingCase([&]() -> Expected<json> {
           Status status = judgeProcedural(testCase, handle(testCase));
           return status.ok() ? Expected<json>(json()) : status;
         })
      .status();
}

Status judgeProcedural(const json &testCase, const Expected<json> &result) {
  std::string grading = testCase.value("grading", "match_tf");
  bool rejects = grading == "reject" || grading == "reject_tf_silent" ||
                 (grading == "match_tf" && expectsError(testCase));
  return rejects
             ? judgeError(testCase, result)
             : judgeResult(testCase, result, testCase.value("tolerance", 1e-6));
}

bool isOfClass(const Status &error, std::string_view neutralClass) {
  return !error.ok() &&
         error.message().find(fmt::format("[{}]", neutralClass)) !=
             std::string::npos;
}

} // namespace lockstep::conformance

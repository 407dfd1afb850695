//===- ProceduralCases.h - cases without a program --------------*- C++ -*-===//
//
// A procedural case has no program but an operation `op` with parameters. Each
// kind of operation has one handler, which computes the result with the
// runtime's own code from the parameters of the case, for any parameters of its
// kind.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_PROCEDURALCASES_H
#define LOCKSTEP_TEST_CONFORMANCE_PROCEDURALCASES_H

#include "runtime/support/Status.h"

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::conformance {

using nlohmann::json;
using runtime::Expected;
using runtime::Status;

/// Returns the value of "ok" in the case, or, with several workers, a list of
/// their values. Diagnostics end with their class in brackets, as everywhere:
/// "... [E_UNBATCHED_DATASET]". Tables have their parameters within the
/// expected rows; a handler reads these and adds the results.
using ProceduralHandler = Expected<json> (*)(const json &testCase);

struct ProceduralKind {
  std::string_view op;
  ProceduralHandler handle;
};

/// All kinds that there are.
std::span<const ProceduralKind> proceduralKinds();
/// The handler of a kind, or null.
ProceduralHandler findProcedural(std::string_view op);

/// Runs a case and judges it by its grading. Success if it passed, else why
/// not.
Status runProcedural(const json &testCase);

/// Judges the result of a case by its grading.
Status judgeProcedural(const json &testCase, const Expected<json> &result);

/// Whether a diagnostic is of a class: "..., found 3 [E_OPTION_VALUE]".
bool isOfClass(const Status &error, std::string_view neutralClass);

/// The first difference, or success. Numbers are compared with the tolerance,
/// absolute and relative; whole numbers, booleans and strings exactly. For an
/// error within a table only its existence is compared, since the text is
/// TensorFlow's.
Status compareResults(const json &expected, const json &found,
                      double tolerance);

/// Calls a function that reads a case; missing fields and wrong types become
/// errors.
template <typename Function> Expected<json> readingCase(Function function) {
  try {
    return function();
  } catch (const json::exception &error) {
    return runtime::unsupported(std::string("not a case of this kind: ") +
                                error.what());
  }
}

// ProceduralDataset.cpp
Expected<json> distributeDataset(const json &testCase);
Expected<json> batchSizes(const json &testCase);
// ProceduralPipelines.cpp
Expected<json> distributeFromFunction(const json &testCase);
Expected<json> perReplicaBatchSize(const json &testCase);
Expected<json> distributeValues(const json &testCase);
// ProceduralNumpy.cpp
Expected<json> makeNumpyDataset(const json &testCase);
// ProceduralModel.cpp
Expected<json> partitionerTable(const json &testCase);
Expected<json> groupBySize(const json &testCase);
Expected<json> mergeOptions(const json &testCase);
// ProceduralServers.cpp
Expected<json> layoutOfServers(const json &testCase);
Expected<json> colocateOnServers(const json &testCase);
Expected<json> constructServers(const json &testCase);
Expected<json> constructServersFromEnvironment(const json &testCase);
// ProceduralShards.cpp
Expected<json> readSharded(const json &testCase);
Expected<json> assignSharded(const json &testCase);
Expected<json> sliceSharded(const json &testCase);
Expected<json> sparseReadSharded(const json &testCase);
Expected<json> lookupSharded(const json &testCase);
Expected<json> scatterSharded(const json &testCase);
// ProceduralCheckpoint.cpp
Expected<json> checkpointRoundTrip(const json &testCase);

} // namespace lockstep::conformance

#endif // LOCKSTEP_TEST_CONFORMANCE_PROCEDURALCASES_H

//===- ProceduralData.h - shared by cases of input --------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_PROCEDURALDATA_H
#define LOCKSTEP_TEST_CONFORMANCE_PROCEDURALDATA_H

#include "ProceduralCases.h"
#include "ProceduralExpression.h"

#include "runtime/data/Distribution.h"

namespace lockstep::conformance {

/// Number of workers and of replicas of each, from "strategy".
struct Cluster {
  unsigned workers = 1, replicasPerWorker = 1;
  unsigned replicas() const { return workers * replicasPerWorker; }
};

Expected<Cluster> clusterOf(const json &testCase);

/// From "options"; one data set for each worker by default.
Expected<runtime::ReplicationMode> replicationMode(const json &testCase);

/// The result of one worker as such, of several as a list.
template <typename Function>
Expected<json> forEachWorker(const json &testCase, unsigned workers,
                             Function function) {
  json results = json::array();
  for (unsigned worker = 0; worker < workers; ++worker) {
    Expected<json> result = function(worker);
    if (!result)
      return result.status();
    results.push_back(std::move(*result));
  }
  return testCase.contains("expected_per_worker") ? Expected<json>(results)
                                                  : Expected<json>(results[0]);
}

/// The rows of a data set, before they are batched: a tensor, or a nest of
/// tensors.
Expected<CaseValue> rowsOfDataset(const json &dataset,
                                  const Environment &environment = {});

/// The data of a worker's replicas by step: the nest of rows, with each tensor
/// replaced by a list with one for each replica.
json stepsOfWorker(const runtime::Distribution &distribution,
                   const CaseValue &rows, unsigned worker, unsigned replicas);

} // namespace lockstep::conformance

#endif // LOCKSTEP_TEST_CONFORMANCE_PROCEDURALDATA_H

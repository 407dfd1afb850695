//===- InputPipelines.h - data that a function makes ------------*- C++ -*-===//
//
// A function that makes the data of a pipeline is called once for each worker,
// or once for each replica. Its elements are neither batched again nor sharded:
// in each step every replica takes one element, the replicas of one worker
// consecutively from the worker's pipeline.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_INPUTPIPELINES_H
#define LOCKSTEP_TEST_CONFORMANCE_INPUTPIPELINES_H

#include "runtime/data/Distribution.h"
#include "runtime/support/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::runtime {

/// The argument of the function.
struct InputContext {
  unsigned pipelines = 1;
  unsigned pipeline = 0;
  unsigned replicas = 1;

  /// The rows of a replica's batch. Error: the replicas cannot share
  /// `globalBatch` evenly [E_BATCH_DIVISIBLE].
  Expected<uint64_t> perReplicaBatchSize(uint64_t globalBatch) const;

  bool operator==(const InputContext &) const = default;
};

/// The pipelines of all workers, in the order of workers and replicas.
std::vector<InputContext> inputContexts(ReplicationMode mode, unsigned workers,
                                        unsigned replicasPerWorker);

/// The pipelines of asynchronous workers (`parameter_server`): each has one and
/// knows of no other, nor of other replicas.
std::vector<InputContext>
inputContextsOfLoneWorkers(unsigned workers, unsigned replicasPerWorker);

/// An element of a pipeline.
struct PipelineElement {
  unsigned pipeline = 0;
  uint64_t element = 0;

  bool operator==(const PipelineElement &) const = default;
};

/// The element of replica `replica` of `worker` in `step`. If its pipeline has
/// none, one of 0 rows.
PipelineElement elementFor(ReplicationMode mode, unsigned replicasPerWorker,
                           uint64_t step, unsigned worker, unsigned replica);

/// Steps until all pipelines are empty; `elements`: how many each of them has.
uint64_t pipelineSteps(ReplicationMode mode, unsigned replicasPerWorker,
                       std::span<const uint64_t> elements);

/// The argument of a function that returns one value for each replica.
struct ValueContext {
  unsigned replica = 0;
  unsigned replicas = 1;
};

/// The values of `function` for the replicas of one worker, in their order.
/// They stay values of single replicas even if all are equal.
template <typename Function>
auto valuesFromFunction(unsigned worker, unsigned replicasPerWorker,
                        unsigned replicas, Function function) {
  std::vector<decltype(function(ValueContext()))> values;
  for (unsigned replica = 0; replica < replicasPerWorker; ++replica)
    values.push_back(
        function(ValueContext{worker * replicasPerWorker + replica, replicas}));
  return values;
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_TEST_CONFORMANCE_INPUTPIPELINES_H

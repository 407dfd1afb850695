//===- InputPipelines.h - data that a function makes ------------*- C++ -*-===//
//
// A function that makes the data of a pipeline is called once for each worker,
// or once for each replica. What it makes is neither batched again nor sharded:
// in each step every replica takes one element, those of one worker one after
// the other from the worker's pipeline.
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

/// What the function is told.
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

/// The pipelines of workers that take steps of their own (`parameter_server`):
/// each has one and is told of no other, nor of other replicas.
std::vector<InputContext>
inputContextsOfLoneWorkers(unsigned workers, unsigned replicasPerWorker);

/// An element of a pipeline.
struct PipelineElement {
  unsigned pipeline = 0;
  uint64_t element = 0;

  bool operator==(const PipelineElement &) const = default;
};

/// What replica `replica` of `worker` takes in `step`. Where its pipeline has
/// no such element it gets one of 0 rows.
PipelineElement elementFor(ReplicationMode mode, unsigned replicasPerWorker,
                           uint64_t step, unsigned worker, unsigned replica);

/// Steps until all pipelines are empty; `elements`: how many each of them has.
uint64_t pipelineSteps(ReplicationMode mode, unsigned replicasPerWorker,
                       std::span<const uint64_t> elements);

/// What a function of the replica is told, which gives one value for each
/// replica.
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

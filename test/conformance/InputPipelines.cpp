//===- InputPipelines.cpp - data that a function makes --------------------===//

#include "test/conformance/InputPipelines.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::runtime {

Expected<uint64_t>
InputContext::perReplicaBatchSize(uint64_t globalBatch) const {
  if (globalBatch % replicas != 0)
    return invalidArgument(
        fmt::format("expected a global batch that {} replicas can share "
                    "evenly, found {} [E_BATCH_DIVISIBLE]",
                    replicas, globalBatch));
  return globalBatch / replicas;
}

std::vector<InputContext> inputContexts(ReplicationMode mode, unsigned workers,
                                        unsigned replicasPerWorker) {
  unsigned replicas = workers * replicasPerWorker;
  unsigned count = mode == ReplicationMode::perWorker ? workers : replicas;
  std::vector<InputContext> contexts;
  for (unsigned pipeline = 0; pipeline < count; ++pipeline)
    contexts.push_back({count, pipeline, replicas});
  return contexts;
}

std::vector<InputContext>
inputContextsOfLoneWorkers(unsigned workers, unsigned replicasPerWorker) {
  return std::vector<InputContext>(workers, {1, 0, replicasPerWorker});
}

PipelineElement elementFor(ReplicationMode mode, unsigned replicasPerWorker,
                           uint64_t step, unsigned worker, unsigned replica) {
  if (mode == ReplicationMode::perReplica)
    return {worker * replicasPerWorker + replica, step};
  return {worker, step * replicasPerWorker + replica};
}

uint64_t pipelineSteps(ReplicationMode mode, unsigned replicasPerWorker,
                       std::span<const uint64_t> elements) {
  uint64_t most = elements.empty()
                      ? 0
                      : *std::max_element(elements.begin(), elements.end());
  uint64_t perStep =
      mode == ReplicationMode::perReplica ? 1 : replicasPerWorker;
  return (most + perStep - 1) / perStep;
}

} // namespace lockstep::runtime

//===- InputPipelinesTest.cpp - elements of pipelines ---------------------===//

#include "test/conformance/InputPipelines.h"

#include <gtest/gtest.h>

using namespace lockstep::runtime;

using Sizes = std::vector<uint64_t>;

// 6.2: consecutive elements of the worker's pipeline go to its replicas; one
// pipeline for each replica goes to that one. [6.2-function]
TEST(InputPipelines, ElementsInTheOrderOfReplicas) { // [6.2-parameter-server]
  ReplicationMode worker = ReplicationMode::perWorker,
                  replica = ReplicationMode::perReplica;
  EXPECT_EQ(inputContexts(worker, 2, 2),
            (std::vector<InputContext>{{2, 0, 4}, {2, 1, 4}}));
  EXPECT_EQ(inputContexts(replica, 1, 2),
            (std::vector<InputContext>{{2, 0, 2}, {2, 1, 2}}));
  EXPECT_EQ(inputContextsOfLoneWorkers(3, 1),
            (std::vector<InputContext>{{1, 0, 1}, {1, 0, 1}, {1, 0, 1}}));
  EXPECT_EQ(elementFor(worker, 2, /*step=*/3, /*worker=*/1, /*replica=*/1),
            (PipelineElement{1, 7}));
  EXPECT_EQ(elementFor(replica, 2, /*step=*/3, /*worker=*/1, /*replica=*/1),
            (PipelineElement{3, 3}));
  EXPECT_EQ(pipelineSteps(worker, 2, Sizes{4, 5}), 3u);
  EXPECT_EQ(pipelineSteps(replica, 2, Sizes{4, 5}), 5u);
  EXPECT_EQ(pipelineSteps(worker, 2, {}), 0u);
}

TEST(InputPipelines, PerReplicaBatchSize) { // [6.2-batch-size]
  EXPECT_EQ(*(InputContext{1, 0, 4}).perReplicaBatchSize(8), 2u);
  EXPECT_EQ((InputContext{1, 0, 4}).perReplicaBatchSize(7).status().message(),
            "expected a global batch that 4 replicas can share evenly, found 7 "
            "[E_BATCH_DIVISIBLE]");
}

// The second of two workers with two replicas.
TEST(InputPipelines, ValuesFromAFunctionOfTheReplica) {
  auto values = valuesFromFunction(1, 2, 4, [](ValueContext context) {
    return 10 * context.replica + context.replicas;
  });
  EXPECT_EQ(values, (std::vector<unsigned>{24, 34}));
}

//===- DistributionTest.cpp - which rows each replica gets ----------------===//
//
// The values are those of the reference's section on input, established by
// running TensorFlow.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Distribution.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace lockstep::runtime;

namespace {

using Sizes = std::vector<uint64_t>;
using Steps = std::vector<Sizes>;

Distribution distribute(const DistributionOptions &options) {
  Expected<Distribution> result = Distribution::create(options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return std::move(*result);
}

std::string errorOf(const DistributionOptions &options) {
  return Distribution::create(options).status().message();
}

/// The rows of a worker's replicas in each step.
std::vector<Steps> rowsOf(const Distribution &distribution, unsigned worker,
                          unsigned replicas) {
  std::vector<Steps> result(distribution.steps());
  for (uint64_t step = 0; step < result.size(); ++step)
    for (unsigned replica = 0; replica < replicas; ++replica) {
      RowRange range = distribution.rows(step, worker, replica);
      Sizes &rows = result[step].emplace_back();
      for (uint64_t row = 0; row < range.count; ++row)
        rows.push_back(distribution.globalRow(worker, range.first + row));
    }
  return result;
}

/// The numbers of rows of one worker with `replicas` replicas.
Steps sizesOf(uint64_t rows, uint64_t batch, unsigned replicas,
              ShardPolicy policy, bool dropRemainder = false) {
  Distribution distribution = distribute({.globalBatch = batch,
                                          .replicasPerWorker = replicas,
                                          .policy = policy,
                                          .dropRemainder = dropRemainder,
                                          .rows = rows});
  Steps result(distribution.steps());
  for (uint64_t step = 0; step < result.size(); ++step)
    for (unsigned replica = 0; replica < replicas; ++replica)
      result[step].push_back(distribution.rows(step, 0, replica).count);
  return result;
}

} // namespace

// 6.1, AUTO without files or DATA: each batch is cut for itself into N pieces
// of ceil(n / N). [6.1-pieces]
TEST(Distribution, CutsEachBatchIntoPieces) {
  ShardPolicy policy = ShardPolicy::automatic;
  EXPECT_EQ(sizesOf(7, 7, 3, policy), (Steps{{3, 3, 1}}));
  EXPECT_EQ(sizesOf(14, 7, 3, policy), (Steps{{3, 3, 1}, {3, 3, 1}}));
  EXPECT_EQ(sizesOf(14, 8, 2, policy), (Steps{{4, 4}, {3, 3}}));
  EXPECT_EQ(sizesOf(14, 8, 4, policy), (Steps{{2, 2, 2, 2}, {2, 2, 2, 0}}));
  EXPECT_EQ(sizesOf(4, 4, 3, policy), (Steps{{2, 2, 0}}));
  EXPECT_EQ(sizesOf(12, 5, 4, policy),
            (Steps{{2, 2, 1, 0}, {2, 2, 1, 0}, {1, 1, 0, 0}}));
  EXPECT_EQ(sizesOf(10, 4, 1, policy), (Steps{{4}, {4}, {2}}));
  EXPECT_EQ(sizesOf(9, 4, 2, policy, /*dropRemainder=*/true),
            (Steps{{2, 2}, {2, 2}}));
  EXPECT_EQ(sizesOf(7, 7, 3, ShardPolicy::data, /*dropRemainder=*/true),
            (Steps{{3, 3, 1}}));
  EXPECT_EQ(sizesOf(0, 7, 3, policy), Steps{});
}

// 6.1, OFF, FILE: the shares of G follow each other over the ends of batches.
TEST(Distribution, CutsContinuously) { // [6.1-continuous]
  for (ShardPolicy policy :
       {ShardPolicy::off, ShardPolicy::file, ShardPolicy::hint}) {
    EXPECT_EQ(sizesOf(7, 7, 3, policy), (Steps{{3, 2, 2}}));
    EXPECT_EQ(sizesOf(14, 8, 2, policy), (Steps{{4, 4}, {4, 2}}));
    EXPECT_EQ(sizesOf(14, 7, 3, policy, /*dropRemainder=*/true),
              (Steps{{3, 2, 2}, {3, 2, 2}}));
    EXPECT_EQ(sizesOf(16, 7, 3, policy, /*dropRemainder=*/true),
              (Steps{{3, 2, 2}, {3, 2, 2}}));
    EXPECT_EQ(sizesOf(9, 4, 2, policy), (Steps{{2, 2}, {2, 2}, {1, 0}}));
    EXPECT_EQ(sizesOf(12, 5, 4, policy),
              (Steps{{2, 1, 1, 1}, {2, 1, 1, 1}, {2, 0, 0, 0}}));
    EXPECT_EQ(sizesOf(2, 1, 3, policy), (Steps{{1, 0, 0}, {1, 0, 0}}));
  }
}

// Two workers with one replica: each takes its half of every batch, and the
// last row leaves one without any.
TEST(Distribution, ShardsBetweenWorkers) {
  Distribution halves =
      distribute({.globalBatch = 8, .workers = 2, .rows = 14});
  EXPECT_EQ(rowsOf(halves, 0, 1),
            (std::vector<Steps>{{{0, 1, 2, 3}}, {{8, 9, 10}}}));
  EXPECT_EQ(rowsOf(halves, 1, 1),
            (std::vector<Steps>{{{4, 5, 6, 7}}, {{11, 12, 13}}}));
  Distribution odd = distribute({.globalBatch = 4, .workers = 2, .rows = 9});
  EXPECT_EQ(rowsOf(odd, 0, 1), (std::vector<Steps>{{{0, 1}}, {{4, 5}}, {{8}}}));
  EXPECT_EQ(rowsOf(odd, 1, 1), (std::vector<Steps>{{{2, 3}}, {{6, 7}}, {{}}}));
  // Pieces w, w + W, ... are those of worker w. [6.1-pieces-workers]
  Distribution four = distribute(
      {.globalBatch = 4, .workers = 2, .replicasPerWorker = 2, .rows = 4});
  EXPECT_EQ(rowsOf(four, 0, 2), (std::vector<Steps>{{{0}, {2}}}));
  EXPECT_EQ(rowsOf(four, 1, 2), (std::vector<Steps>{{{1}, {3}}}));
}

// Not sharded, each worker reads all rows, and begins at its own share of a
// batch.
TEST(Distribution, EveryWorkerReadsEverything) {
  Distribution off = distribute(
      {.globalBatch = 5, .workers = 2, .policy = ShardPolicy::off, .rows = 7});
  EXPECT_EQ(rowsOf(off, 0, 1),
            (std::vector<Steps>{{{0, 1, 2}}, {{3, 4}}, {{5, 6}}}));
  EXPECT_EQ(rowsOf(off, 1, 1),
            (std::vector<Steps>{{{0, 1}}, {{2, 3, 4}}, {{5, 6}}}));
}

// Worker w reads the files w, w + W, ...; the one with fewer rows continues
// with empty pieces. [6.1-files]
TEST(Distribution, ShardsFiles) {
  Distribution two =
      distribute({.globalBatch = 2, .workers = 2, .fileRows = {3, 3}});
  EXPECT_EQ(rowsOf(two, 0, 1), (std::vector<Steps>{{{0}}, {{1}}, {{2}}}));
  EXPECT_EQ(rowsOf(two, 1, 1), (std::vector<Steps>{{{3}}, {{4}}, {{5}}}));
  Distribution three = distribute({.globalBatch = 4,
                                   .workers = 2,
                                   .policy = ShardPolicy::file,
                                   .fileRows = {3, 3, 3}});
  EXPECT_EQ(rowsOf(three, 0, 1),
            (std::vector<Steps>{{{0, 1}}, {{2, 6}}, {{7, 8}}}));
  EXPECT_EQ(rowsOf(three, 1, 1), (std::vector<Steps>{{{3, 4}}, {{5}}, {{}}}));
}

// Whatever the sizes: each row is used once, in order, no step is empty on all
// replicas, and none has more rows than promised.
TEST(Distribution, UsesEachRowOnce) {
  for (uint64_t rows = 0; rows < 40; ++rows)
    for (uint64_t batch = 1; batch < 12; ++batch)
      for (unsigned replicas = 1; replicas < 6; ++replicas)
        for (ShardPolicy policy : {ShardPolicy::data, ShardPolicy::off}) {
          Distribution distribution = distribute({.globalBatch = batch,
                                                  .replicasPerWorker = replicas,
                                                  .policy = policy,
                                                  .rows = rows});
          uint64_t next = 0;
          for (uint64_t step = 0; step < distribution.steps(); ++step) {
            uint64_t before = next;
            for (unsigned replica = 0; replica < replicas; ++replica) {
              RowRange range = distribution.rows(step, 0, replica);
              EXPECT_LE(range.count, distribution.mostRows());
              EXPECT_TRUE(range.count == 0 || range.first == next);
              next += range.count;
            }
            EXPECT_GT(next, before);
          }
          EXPECT_EQ(next, rows);
        }
}

TEST(Distribution, BatchSizesForWorker) {
  EXPECT_EQ(batchSizesForWorker(1, 1, 3, 0), (Sizes{1, 0, 0}));
  EXPECT_EQ(batchSizesForWorker(1, 3, 2, 1), (Sizes{0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(batchSizesForWorker(1, 4, 1, 3), (Sizes{0, 1, 0, 0}));
  EXPECT_EQ(batchSizesForWorker(7, 1, 3, 0), (Sizes{3, 2, 2}));
  EXPECT_EQ(batchSizesForWorker(7, 2, 2, 1), (Sizes{2, 1, 2, 2}));
  EXPECT_EQ(batchSizesForWorker(8, 3, 2, 2), (Sizes{1, 1, 2, 2, 1, 1}));
  EXPECT_EQ(batchSizesForWorker(8, 2, 2, 1), (Sizes{2, 2, 2, 2}));
}

TEST(Distribution, Errors) { // [6.1-unbatched, 6.1-divisible]
  EXPECT_EQ(errorOf({.rows = 4}), "expected a data set of batches, found one "
                                  "of single rows [E_UNBATCHED_DATASET]");
  EXPECT_EQ(
      errorOf(
          {.globalBatch = 4, .mode = ReplicationMode::perReplica, .rows = 4}),
      "expected one data set for each worker, found one for each replica: what "
      "is distributed in batches must be distributed from a "
      "function for that [E_UNSUPPORTED_INPUT_OPTION]");
  EXPECT_EQ(errorOf({.globalBatch = 2, .workers = 3, .fileRows = {3, 3}}),
            "expected a file for each of 3 workers, found 2 [E_TOO_FEW_FILES]");
  EXPECT_EQ(errorOf({.globalBatch = 0, .rows = 4}),
            "expected batches of at least 1 row for at least 1 worker with 1 "
            "replica, found 0 for 1 with 1 [E_OPTION_VALUE]");
  EXPECT_EQ(
      errorOf({.globalBatch = 2, .fileRows = {~uint64_t(0), 1}}),
      "expected a number of rows below 2^64, found more [E_OPTION_VALUE]");
  EXPECT_EQ(replicasOfWorker(6, 4).status().message(),
            "expected a number of replicas that 4 workers can share evenly, "
            "found 6 [E_BATCH_DIVISIBLE]");
  EXPECT_EQ(*replicasOfWorker(6, 3), 2u);
}

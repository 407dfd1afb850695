//===- Distribution.cpp - rows of each replica ----------------------------===//

#include "runtime/data/Distribution.h"

#include "runtime/support/Checked.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace lockstep::runtime {

namespace {

uint64_t ceilDivide(uint64_t value, uint64_t divisor) {
  return value / divisor + (value % divisor != 0);
}

/// The part of [first, first + count) that is below `limit`.
RowRange cutOff(uint64_t first, uint64_t count, uint64_t limit) {
  first = std::min(first, limit);
  return {first, std::min(count, limit - first)};
}

/// Sum of the rows of all files; none on overflow.
std::optional<uint64_t> totalRows(const DistributionOptions &options) {
  std::optional<uint64_t> total = options.fileRows.empty() ? options.rows : 0;
  for (uint64_t rows : options.fileRows)
    total = total ? checkedAdd(*total, rows) : total;
  return total;
}

Status check(const DistributionOptions &options, ShardPolicy policy) {
  if (options.mode == ReplicationMode::perReplica)
    return unsupported(
        "expected one data set for each worker, found one for each replica: "
        "what is distributed in batches must be "
        "distributed from a function for that [E_UNSUPPORTED_INPUT_OPTION]");
  if (!options.globalBatch)
    return invalidArgument("expected a data set of batches, found one of "
                           "single rows [E_UNBATCHED_DATASET]");
  if (*options.globalBatch == 0 || options.workers == 0 ||
      options.replicasPerWorker == 0)
    return invalidArgument(fmt::format(
        "expected batches of at least 1 row for at least 1 worker with 1 "
        "replica, found {} for {} with {} "
        "[E_OPTION_VALUE]",
        *options.globalBatch, options.workers, options.replicasPerWorker));
  if (policy == ShardPolicy::file && options.workers > 1 &&
      options.fileRows.size() < options.workers)
    return invalidArgument(fmt::format(
        "expected a file for each of {} workers, found {} [E_TOO_FEW_FILES]",
        options.workers, options.fileRows.size()));
  if (!totalRows(options))
    return invalidArgument(
        "expected a number of rows below 2^64, found more [E_OPTION_VALUE]");
  return Status::success();
}

} // namespace

std::vector<uint64_t> batchSizesForWorker(uint64_t globalBatch,
                                          unsigned workers,
                                          unsigned replicasPerWorker,
                                          unsigned worker) {
  uint64_t replicas = uint64_t(workers) * replicasPerWorker;
  std::vector<uint64_t> sizes(replicas, globalBatch / replicas);
  for (uint64_t i = 0; i < globalBatch % replicas; ++i)
    ++sizes[i];
  std::rotate(sizes.begin(),
              sizes.begin() + uint64_t(worker) * replicasPerWorker,
              sizes.end());
  return sizes;
}

RowRange pieceOfBatch(uint64_t rows, uint64_t pieces, uint64_t index) {
  uint64_t size = ceilDivide(rows, pieces);
  return cutOff(index * size, size, rows);
}

Expected<unsigned> replicasOfWorker(unsigned replicas, unsigned workers) {
  if (workers == 0 || replicas % workers != 0)
    return invalidArgument(
        fmt::format("expected a number of replicas that {} workers can share "
                    "evenly, found {} [E_BATCH_DIVISIBLE]",
                    workers, replicas));
  return replicas / workers;
}

Expected<Distribution>
Distribution::create(const DistributionOptions &options) {
  ShardPolicy policy = options.policy;
  if (policy == ShardPolicy::automatic)
    policy = options.fileRows.empty() ? ShardPolicy::data : ShardPolicy::file;
  LOCKSTEP_RETURN_IF_ERROR(check(options, policy));

  Distribution result;
  result.globalBatch = *options.globalBatch;
  result.workers = options.workers;
  result.replicasPerWorker = options.replicasPerWorker;
  result.policy = policy;
  result.assignRows(options);
  for (unsigned worker = 0; worker < options.workers; ++worker) {
    std::vector<uint64_t> sizes = batchSizesForWorker(
        result.globalBatch, options.workers, options.replicasPerWorker, worker);
    std::vector<uint64_t> &before = result.sharesBefore.emplace_back(1, 0);
    std::partial_sum(sizes.begin(), sizes.end(), std::back_inserter(before));
    result.stepCount = std::max(result.stepCount, result.stepsOfWorker(worker));
  }
  return result;
}

void Distribution::assignRows(const DistributionOptions &options) {
  extents.resize(workers);
  if (policy == ShardPolicy::file && !options.fileRows.empty()) {
    uint64_t first = 0;
    for (size_t file = 0; file < options.fileRows.size(); ++file) {
      extents[file % workers].push_back({first, options.fileRows[file]});
      first += options.fileRows[file];
    }
  } else {
    for (std::vector<Extent> &all : extents)
      all.push_back({0, *totalRows(options)});
  }
  for (const std::vector<Extent> &worker : extents) {
    uint64_t rows = 0;
    for (const Extent &extent : worker)
      rows += extent.count;
    workerRows.push_back(options.dropRemainder ? rows - rows % globalBatch
                                               : rows);
  }
}

uint64_t Distribution::stepsOfWorker(unsigned worker) const {
  uint64_t rows = workerRows[worker];
  if (cutsPieces())
    return ceilDivide(rows, globalBatch);
  // The shares repeat after W steps, in which G rows are used.
  uint64_t steps = rows / globalBatch * workers, left = rows % globalBatch;
  for (unsigned step = 0; sharesBefore[worker][step * replicasPerWorker] < left;
       ++step)
    ++steps;
  return steps;
}

RowRange Distribution::rows(uint64_t step, unsigned worker,
                            unsigned replica) const {
  if (step >= stepCount)
    return {workerRows[worker], 0};
  return cutsPieces() ? piece(step, worker, replica)
                      : share(step, worker, replica);
}

RowRange Distribution::piece(uint64_t step, unsigned worker,
                             unsigned replica) const {
  RowRange batch = cutOff(step * globalBatch, globalBatch, workerRows[worker]);
  RowRange own = pieceOfBatch(batch.count, replicas(),
                              worker + uint64_t(replica) * workers);
  return {batch.first + own.first, own.count};
}

RowRange Distribution::share(uint64_t step, unsigned worker,
                             unsigned replica) const {
  uint64_t index = step * replicasPerWorker + replica;
  const std::vector<uint64_t> &before = sharesBefore[worker];
  uint64_t round = index / replicas(), place = index % replicas();
  return cutOff(round * globalBatch + before[place],
                before[place + 1] - before[place], workerRows[worker]);
}

uint64_t Distribution::globalRow(unsigned worker, uint64_t row) const {
  for (const Extent &extent : extents[worker]) {
    if (row < extent.count)
      return extent.first + row;
    row -= extent.count;
  }
  return row;
}

uint64_t Distribution::mostRows() const {
  return ceilDivide(globalBatch, replicas());
}

} // namespace lockstep::runtime

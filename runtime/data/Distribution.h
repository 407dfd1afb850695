//===- Distribution.h - which rows each replica gets ------------*- C++ -*-===//
//
// A data set that was batched for all replicas together is distributed over W
// workers with R replicas each, N = W * R. G is the size of its batches. What a
// worker reads is decided by the policy, and the policy decides too by which of
// two rules batches are cut up:
//
//   pieces      data        Each batch of n rows (n < G for the last one) is
//                           cut for itself into N pieces of ceil(n / N) rows,
//                           as far as they go; worker w gets the pieces
//                           w, w + W, w + 2W, ...
//   continuous  file, off,  The rows that the worker reads are cut without
//               hint        regard to where batches begin, into sizes that are
//                           the shares of G, repeated; see
//                           `batchSizesForWorker`.
//
// 7 rows of G = 7 on 3 replicas are 3, 3, 1 by the first rule and 3, 2, 2 by
// the second. What no row is left for is an empty piece: in each step every
// replica gets something, of 0 rows if need be, so that all of them run the
// same steps.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_DATA_DISTRIBUTION_H
#define LOCKSTEP_RUNTIME_DATA_DISTRIBUTION_H

#include "runtime/support/Status.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::runtime {

/// How workers share the data among themselves.
enum class ShardPolicy : uint8_t {
  /// `file` where the data come from files, else `data`.
  automatic,
  /// Each worker takes its pieces of every batch.
  data,
  /// Worker w of W reads the files w, w + W, ...
  file,
  /// Every worker reads everything.
  off,
  /// The place to shard is marked in the data set. Here none ever is, so this
  /// is `off`.
  hint,
};

/// How often the data set is made.
enum class ReplicationMode : uint8_t { perWorker, perReplica };

struct DistributionOptions {
  /// Rows of a batch of all replicas; nothing: the data are not batched.
  std::optional<uint64_t> globalBatch = {};
  unsigned workers = 1;
  unsigned replicasPerWorker = 1;
  ShardPolicy policy = ShardPolicy::automatic;
  ReplicationMode mode = ReplicationMode::perWorker;
  /// The last batch is left out if it has fewer than G rows.
  bool dropRemainder = false;
  /// Rows of the data set. Not used when it is read from files.
  uint64_t rows = 0;
  /// Rows of each file, in the order of the files.
  std::vector<uint64_t> fileRows = {};
};

/// [first, first + count) of the rows that a worker reads.
struct RowRange {
  uint64_t first = 0;
  uint64_t count = 0;

  bool operator==(const RowRange &) const = default;
};

/// The shares of a batch of G rows in the order in which a worker's replicas
/// take them, one after the other and again from the front: G divided by N as
/// evenly as it goes, the larger shares first, rotated so that worker w begins
/// at the share of its first replica. For G = 7 and two workers with two
/// replicas: 2, 2, 2, 1 for worker 0 and 2, 1, 2, 2 for worker 1.
std::vector<uint64_t> batchSizesForWorker(uint64_t globalBatch,
                                          unsigned workers,
                                          unsigned replicasPerWorker,
                                          unsigned worker);

/// Piece `index` of `pieces` of a batch of `rows` rows: ceil(rows / pieces) of
/// them, as far as they go.
RowRange pieceOfBatch(uint64_t rows, uint64_t pieces, uint64_t index);

/// N / W. Error: it is not whole [E_BATCH_DIVISIBLE].
Expected<unsigned> replicasOfWorker(unsigned replicas, unsigned workers);

/// The distribution of one data set. Nothing is stored per step: any step can
/// be asked for.
class Distribution {
public:
  /// Errors: no batches [E_UNBATCHED_DATASET], one data set for each replica,
  /// which would each need their own batches [E_UNSUPPORTED_INPUT_OPTION],
  /// fewer files than workers [E_TOO_FEW_FILES], and a batch of 0 rows, no
  /// workers or replicas, too many rows [E_OPTION_VALUE].
  static Expected<Distribution> create(const DistributionOptions &options);

  /// Steps until every worker is out of rows.
  uint64_t steps() const { return stepCount; }
  /// What replica `replica` of `worker` gets in `step`; nothing after its
  /// worker's last row.
  RowRange rows(uint64_t step, unsigned worker, unsigned replica) const;
  /// The row of the data set behind row `row` of those that `worker` reads;
  /// files follow each other.
  uint64_t globalRow(unsigned worker, uint64_t row) const;
  /// The most rows that `rows` gives.
  uint64_t mostRows() const;

private:
  /// A run of consecutive rows of the data set.
  using Extent = RowRange;

  bool cutsPieces() const { return policy == ShardPolicy::data; }
  unsigned replicas() const { return workers * replicasPerWorker; }
  void assignRows(const DistributionOptions &options);
  RowRange piece(uint64_t step, unsigned worker, unsigned replica) const;
  RowRange share(uint64_t step, unsigned worker, unsigned replica) const;
  uint64_t stepsOfWorker(unsigned worker) const;

  uint64_t globalBatch = 0;
  unsigned workers = 1, replicasPerWorker = 1;
  /// Never `automatic`.
  ShardPolicy policy = ShardPolicy::data;
  uint64_t stepCount = 0;
  /// Of each worker, what it reads, in order, and the number of its rows that
  /// are used.
  std::vector<std::vector<Extent>> extents;
  std::vector<uint64_t> workerRows;
  /// Of each worker, the sums of the first 0, 1, ..., N shares.
  std::vector<std::vector<uint64_t>> sharesBefore;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_DISTRIBUTION_H

//===- Distribution.h - rows of each replica --------------------*- C++ -*-===//
//
// A data set that was batched for all replicas together is distributed over W
// workers with R replicas each, N = W * R. G is the size of its batches. The
// policy determines the rows that a worker reads and the rule by which batches
// are divided:
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
// the second. If no row is left, a piece is empty: every replica gets a piece
// in each step, so that all execute the same steps.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_DATA_DISTRIBUTION_H
#define LOCKSTEP_RUNTIME_DATA_DISTRIBUTION_H

#include "runtime/support/Status.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::runtime {

/// How the data are divided among workers.
enum class ShardPolicy : uint8_t {
  /// `file` where the data come from files, else `data`.
  automatic,
  /// Each worker takes its pieces of every batch.
  data,
  /// Worker w of W reads the files w, w + W, ...
  file,
  /// Every worker reads everything.
  off,
  /// The data set marks where to shard. This implementation has no such marks,
  /// so this is `off`.
  hint,
};

/// How many instances of the data set exist.
enum class ReplicationMode : uint8_t { perWorker, perReplica };

struct DistributionOptions {
  /// Rows of a global batch; none: the data are not batched.
  std::optional<uint64_t> globalBatch = {};
  unsigned workers = 1;
  unsigned replicasPerWorker = 1;
  ShardPolicy policy = ShardPolicy::automatic;
  ReplicationMode mode = ReplicationMode::perWorker;
  /// The last batch is dropped if it has fewer than G rows.
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

/// The shares of a batch of G rows in the cyclic order in which a worker's
/// replicas take them: G divided by N as evenly as possible, the larger shares
/// first, rotated so that worker w begins at the share of its first replica.
/// For G = 7 and two workers with two replicas: 2, 2, 2, 1 for worker 0 and 2,
/// 1, 2, 2 for worker 1.
std::vector<uint64_t> batchSizesForWorker(uint64_t globalBatch,
                                          unsigned workers,
                                          unsigned replicasPerWorker,
                                          unsigned worker);

/// Piece `index` of `pieces` of a batch of `rows` rows: ceil(rows / pieces) of
/// them, until none are left.
RowRange pieceOfBatch(uint64_t rows, uint64_t pieces, uint64_t index);

/// N / W. Error: it is not an integer [E_BATCH_DIVISIBLE].
Expected<unsigned> replicasOfWorker(unsigned replicas, unsigned workers);

/// The distribution of one data set. Random access: nothing is stored per step.
class Distribution {
public:
  /// Errors: no batches [E_UNBATCHED_DATASET], one data set for each replica,
  /// which would each need their own batches [E_UNSUPPORTED_INPUT_OPTION],
  /// fewer files than workers [E_TOO_FEW_FILES], and a batch of 0 rows, no
  /// workers or replicas, too many rows [E_OPTION_VALUE].
  static Expected<Distribution> create(const DistributionOptions &options);

  /// Steps until no worker has rows left.
  uint64_t steps() const { return stepCount; }
  /// The rows of replica `replica` of `worker` in `step`; empty after its
  /// worker's last row.
  RowRange rows(uint64_t step, unsigned worker, unsigned replica) const;
  /// The row of the data set, with files concatenated, that `worker` reads as
  /// its row `row`.
  uint64_t globalRow(unsigned worker, uint64_t row) const;
  /// The maximum number of rows that `rows` returns.
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
  /// For each worker, the extents that it reads, in order, and the number of
  /// rows that are used.
  std::vector<std::vector<Extent>> extents;
  std::vector<uint64_t> workerRows;
  /// For each worker, the prefix sums of its N shares.
  std::vector<std::vector<uint64_t>> sharesBefore;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_DISTRIBUTION_H

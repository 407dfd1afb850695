//===- BatchFiller.h - copies examples into batches -------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_BATCHFILLER_H
#define LOCKSTEP_RUNTIME_DATA_BATCHFILLER_H

#include "runtime/data/Batches.h"

#include <vector>

namespace lockstep::runtime {

/// Fills the batches of a run in sequence; single-threaded.
class BatchFiller {
public:
  BatchFiller(BatchLayout layout, const BatchOptions &options);

  /// Checks that there is at least one batch; see `Batches::create`.
  Status check() const;

  const BatchLayout &layout() const { return batchLayout; }
  uint64_t globalBatch() const { return batchSize; }
  uint64_t batchesFrom(uint64_t position) const;
  uint64_t droppedExamples() const;

  /// Writes the batch at the cursor to `inputs` (one pointer for each replica,
  /// null for those that are left out) and advances the cursor. Sets all fields
  /// of `batch` except `inputs`. Errors: those of `NpyArray::read`; then the
  /// batch is invalid.
  Status fill(std::span<std::byte *const> inputs, Batch &batch);

private:
  bool trains() const { return mode == BatchMode::train; }
  bool drops() const { return trains() && remainder == Remainder::drop; }
  /// The sum of rows over all replicas.
  uint64_t allRows() const { return batchLayout.rows * replicas; }
  /// Errors of programs with a dynamic number of rows.
  Status checkRows() const;
  /// Whether no batch begins at `position`.
  bool isEndOfEpoch(uint64_t position) const;
  /// Copies `count` examples from `first` on, in the order of the epoch, zeroes
  /// the rest, and stores the number if it is dynamic.
  Status fillReplica(std::byte *input, uint64_t first, uint64_t count) const;
  void fillMask(std::byte *input, uint64_t count) const;

  BatchLayout batchLayout;
  BatchMode mode;
  Remainder remainder;
  unsigned replicas;
  uint64_t batchSize;
  uint64_t seed;
  DataCursor cursor;
  /// The order of `cursor.epoch`; empty if it is that of the data, or not
  /// computed yet.
  std::vector<uint64_t> order;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_BATCHFILLER_H

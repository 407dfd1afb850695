//===- BatchFiller.h - copies examples into batches -------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_BATCHFILLER_H
#define LOCKSTEP_RUNTIME_DATA_BATCHFILLER_H

#include "runtime/data/Batches.h"

#include <vector>

namespace lockstep::runtime {

/// Makes the batches of a run one after the other; knows nothing of threads.
class BatchFiller {
public:
  BatchFiller(BatchLayout layout, const BatchOptions &options);

  /// Checks that there is a batch at all; see `Batches::create`.
  Status check() const;

  const BatchLayout &layout() const { return batchLayout; }
  uint64_t globalBatch() const { return batchSize; }
  uint64_t batchesFrom(uint64_t position) const;
  uint64_t droppedExamples() const;

  /// Writes the batch at the cursor to `inputs` (one pointer a replica) and
  /// moves on. Fills in everything of `batch` but `inputs`. Errors: those of
  /// `NpyArray::read`; then nothing of the batch is of use.
  Status fill(std::span<std::byte *const> inputs, Batch &batch);

private:
  bool trains() const { return mode == BatchMode::train; }
  bool drops() const { return trains() && remainder == Remainder::drop; }
  /// Rows of all replicas.
  uint64_t allRows() const { return batchLayout.rows * replicas; }
  /// What is wrong with a number of rows that is not always the same.
  Status checkRows() const;
  /// Whether no batch begins at `position`.
  bool isEndOfEpoch(uint64_t position) const;
  /// Copies `count` examples from `first` on, in the order of the epoch, zeroes
  /// the rest, and tells the number where it varies.
  Status fillReplica(std::byte *input, uint64_t first, uint64_t count) const;
  void fillMask(std::byte *input, uint64_t count) const;

  BatchLayout batchLayout;
  BatchMode mode;
  Remainder remainder;
  unsigned replicas;
  uint64_t batchSize;
  uint64_t seed;
  DataCursor cursor;
  /// Of `cursor.epoch`; empty when the order is that of the data, or not made
  /// yet.
  std::vector<uint64_t> order;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_BATCHFILLER_H

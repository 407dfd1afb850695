//===- Batches.h - batches for all replicas, prepared ahead -----*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_BATCHES_H
#define LOCKSTEP_RUNTIME_DATA_BATCHES_H

#include "runtime/data/BatchLayout.h"
#include "runtime/support/Clock.h"
#include "runtime/support/RankRange.h"
#include "runtime/support/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lockstep::runtime {

/// A position in the data: `position` examples of epoch `epoch` have been used.
/// Counted in examples, so it does not depend on the number of replicas.
struct DataCursor {
  uint64_t epoch = 0;
  uint64_t position = 0;

  bool operator==(const DataCursor &) const = default;
};

enum class BatchMode : uint8_t {
  /// Consecutive epochs in the order of `shuffledOrder`; for the rest of an
  /// epoch that does not fill a global batch see `Remainder`.
  train,
  /// The data in their own order, repeatedly. The last batch of each round is
  /// padded with zeros, as the mask shows; a program with a dynamic number of
  /// rows gets fewer rows.
  evaluate,
};

/// What `train` does with the examples of an epoch that do not fill a global
/// batch.
enum class Remainder : uint8_t {
  drop,
  /// They form one more batch. Each replica gets a piece of it, possibly empty,
  /// so all replicas take the same steps. Only for programs with a dynamic
  /// number of rows.
  distribute,
};

struct BatchOptions {
  BatchMode mode = BatchMode::train;
  unsigned replicas = 1;
  /// Those whose inputs are filled; none: all.
  RankRange filled = {};
  RankRange filledReplicas() const {
    return filled.count ? filled : RankRange{0, replicas};
  }
  /// Used in `train` only.
  Remainder remainder = Remainder::drop;
  /// Examples of a global batch, used in `train` only; 0: the rows of all
  /// replicas. Each batch is divided into pieces of equal size
  /// (`pieceOfBatch`); if these have fewer rows than the program's batch, its
  /// number of rows must be dynamic.
  uint64_t globalBatch = 0;
  /// Used in `train` only.
  uint64_t seed = 0;
  DataCursor start = {};
  /// The maximum number of prefetched global batches, at least 3; 0: 3 to 16,
  /// as fit into 64 MiB.
  unsigned slots = 0;
  /// Longest wait for a batch.
  std::chrono::nanoseconds deadline = std::chrono::seconds(60);
  /// Not owned; null: the system's monotonic clock.
  Clock *clock = nullptr;
};

/// One global batch, of which each replica has a piece: of replicas * rows
/// examples, replica r has [r * rows, (r + 1) * rows).
struct Batch {
  /// The epoch that the batch belongs to.
  uint64_t epoch = 0;
  /// Number of real examples; the others are padding.
  uint64_t examples = 0;
  /// The last one of its epoch (or round of evaluation).
  bool endsEpoch = false;
  /// Where the next batch begins.
  DataCursor next;
  /// For each replica `BatchLayout::inputSize` bytes, aligned to
  /// `Session::inputAlignment`; null if they are not filled.
  std::span<const std::byte *const> inputs;
};

/// An endless sequence of batches, filled by one thread into a ring of slots.
/// It sleeps when the ring is full. One thread at a time calls `next`.
class Batches {
public:
  /// Errors: fewer examples than a global batch (`train`, if they would be
  /// dropped), no example, padding needed and no mask (`evaluate`), a dynamic
  /// number of rows in a program where it is fixed, a start beyond the data,
  /// out of memory.
  static Expected<std::unique_ptr<Batches>> create(BatchLayout layout,
                                                   const BatchOptions &options);

  /// Ends the thread; batches become invalid.
  ~Batches();
  Batches(const Batches &) = delete;
  Batches &operator=(const Batches &) = delete;

  /// The next batch, valid until the next call; waits for it if necessary.
  /// Errors: the deadline, data that can no longer be read.
  Expected<const Batch *> next();

  /// The batch that `next` returns, without its effects and valid until the
  /// call after it; null if it is not there yet.
  const Batch *peek();

  const BatchLayout &layout() const;
  /// Examples of a global batch.
  uint64_t globalBatch() const;
  /// Batches of a whole epoch (or round).
  uint64_t batchesPerEpoch() const { return batchesFrom(0); }
  /// Batches of the rest of an epoch.
  uint64_t batchesFrom(uint64_t position) const;
  /// Examples of each epoch that are not used; 0 in `evaluate`.
  uint64_t droppedExamples() const;

private:
  class Impl;
  explicit Batches(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_BATCHES_H

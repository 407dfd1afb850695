//===- EpochBatches.h - all batches of an epoch at once ---------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_EPOCHBATCHES_H
#define LOCKSTEP_RUNTIME_DATA_EPOCHBATCHES_H

#include "runtime/data/AlignedBytes.h"
#include "runtime/data/BatchFiller.h"

#include <memory>
#include <vector>

namespace lockstep::runtime {

/// For programs that load batches themselves: one run executes a whole epoch,
/// so all of its batches are in memory.
class EpochBatches {
public:
  /// Errors: no global batch in the data, padding needed and no input that
  /// marks it, a number of rows that varies in a program where it is fixed, a
  /// start beyond the data, out of memory (see `Batches::create`). `slots` and
  /// `deadline` of the options are ignored, since nothing is prefetched.
  static Expected<std::unique_ptr<EpochBatches>>
  create(BatchLayout layout, const BatchOptions &options);

  /// Fills the batches of the next epoch, or of the rest of the first one if
  /// the start is in its middle; those of the previous epoch become invalid.
  /// Error: the data can no longer be read.
  Status next();

  /// The epoch of these batches, and the position where the next one begins.
  uint64_t epoch() const { return last.epoch; }
  DataCursor cursor() const { return last.next; }
  /// One replica's batches in order: for each, the address of its inputs.
  const std::vector<const std::byte *> &inputs(unsigned replica) const {
    return replicaInputs[replica];
  }

  const BatchFiller &filler() const { return batchFiller; }

private:
  EpochBatches(BatchLayout layout, const BatchOptions &options)
      : batchFiller(std::move(layout), options) {}

  BatchFiller batchFiller;
  Batch last;
  AlignedBytes memory;
  /// Addresses in `memory`: `slots[batch][replica]` of all batches, and
  /// `replicaInputs[replica][batch]` of those that have been filled.
  std::vector<std::vector<std::byte *>> slots;
  std::vector<std::vector<const std::byte *>> replicaInputs;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_EPOCHBATCHES_H

//===- EpochBatches.h - all batches of an epoch at once ---------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_EPOCHBATCHES_H
#define LOCKSTEP_RUNTIME_DATA_EPOCHBATCHES_H

#include "runtime/data/AlignedBytes.h"
#include "runtime/data/BatchFiller.h"

#include <memory>
#include <vector>

namespace lockstep::runtime {

/// For programs that load batches by themselves: one run of them goes through
/// an epoch, so all of its batches are in memory together.
class EpochBatches {
public:
  /// Errors: as `Batches::create`. `slots` and `deadline` of the options mean
  /// nothing here: nobody fills batches ahead.
  static Expected<std::unique_ptr<EpochBatches>>
  create(BatchLayout layout, const BatchOptions &options);

  /// Makes the batches of the next epoch (of the rest of it, if the first
  /// begins in its middle); those of the last one become invalid. Error: the
  /// data cannot be read any more.
  Status next();

  /// The epoch, and where the next one begins.
  uint64_t epoch() const { return last.epoch; }
  DataCursor cursor() const { return last.next; }
  /// One replica's batches in order, each as in `Batch::inputs`.
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
  /// For each batch the memories of the replicas, and for each replica those of
  /// the batches.
  std::vector<std::vector<std::byte *>> slots;
  std::vector<std::vector<const std::byte *>> replicaInputs;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_EPOCHBATCHES_H

//===- DataSource.h - data of training --------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_DATASOURCE_H
#define LOCKSTEP_RUNTIME_TRAINING_DATASOURCE_H

#include "runtime/data/Batches.h"
#include "runtime/data/EpochBatches.h"
#include "runtime/executor/Cluster.h"

#include <memory>

namespace lockstep::training {

/// The position of a run in the data, and the position after it.
struct DataPlace {
  uint64_t epoch = 0;
  runtime::DataCursor next;
  bool endsEpoch = false;
};

/// Prints the arrays of `data` that no input has the name of, which are unused.
void noteUnusedArrays(const runtime::Dataset &data,
                      const runtime::BatchLayout &layout);

/// Binds the next batch for the replicas of this process, and announces the one
/// after it, if it is there. Errors: those of `Batches::next`.
runtime::Expected<const runtime::Batch *>
bindNext(runtime::Batches &batches, runtime::Cluster &cluster,
         runtime::ProgramId program);

/// The batches of a step that reads one, or of a program that processes an
/// epoch of them in each run; or no data.
class DataSource {
public:
  DataSource() = default;
  /// Errors: those of `Batches::create`.
  static runtime::Expected<DataSource>
  create(const runtime::BatchLayout &layout,
         const runtime::BatchOptions &options, bool wholeEpochs);

  bool isEmpty() const { return !batches && !epochs; }
  bool hasWholeEpochs() const { return epochs != nullptr; }
  /// Binds the data of the replicas of this process for the next run.
  runtime::Expected<DataPlace> bindNext(runtime::Cluster &cluster,
                                        runtime::ProgramId program);
  /// The position of a run at `cursor`, without consuming its data.
  DataPlace placeAt(const runtime::DataCursor &cursor) const;

  uint64_t globalBatch() const;
  uint64_t batchesFrom(uint64_t position) const;
  uint64_t droppedExamples() const;

private:
  /// At most one of them.
  std::unique_ptr<runtime::Batches> batches;
  std::unique_ptr<runtime::EpochBatches> epochs;
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_DATASOURCE_H

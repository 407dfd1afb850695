//===- DataSource.cpp - data of training ----------------------------------===//

#include "runtime/training/DataSource.h"

#include "runtime/training/Messages.h"
#include <fmt/format.h>

#include <algorithm>

namespace lockstep::training {

using namespace runtime;

void noteUnusedArrays(const Dataset &data, const BatchLayout &layout) {
  std::string unused;
  for (const std::string &name : data.names())
    if (std::ranges::none_of(layout.fields, [&](const BatchField &field) {
          return field.name == name;
        }))
      unused += fmt::format("{}'{}'", unused.empty() ? "" : ", ", name);
  if (!unused.empty())
    printNote(
        fmt::format("'{}': no input has the name of {}", data.path(), unused));
}

Expected<const Batch *> bindNext(Batches &batches, Cluster &cluster,
                                 ProgramId program) {
  Expected<const Batch *> batch = batches.next();
  if (!batch)
    return batch;
  const Batch *after = batches.peek();
  for (unsigned replica : ranksOf(cluster.replicasHere())) {
    LOCKSTEP_RETURN_IF_ERROR(
        cluster.bindInput(program, replica, (*batch)->inputs[replica]));
    if (after)
      LOCKSTEP_RETURN_IF_ERROR(
          cluster.announceInput(program, replica, after->inputs[replica]));
  }
  return batch;
}

Expected<DataSource> DataSource::create(const BatchLayout &layout,
                                        const BatchOptions &options,
                                        bool wholeEpochs) {
  DataSource source;
  if (wholeEpochs) {
    Expected<std::unique_ptr<EpochBatches>> created =
        EpochBatches::create(layout, options);
    if (!created)
      return created.status();
    source.epochs = std::move(*created);
    return source;
  }
  Expected<std::unique_ptr<Batches>> created = Batches::create(layout, options);
  if (!created)
    return created.status();
  source.batches = std::move(*created);
  return source;
}

Expected<DataPlace> DataSource::bindNext(Cluster &cluster, ProgramId program) {
  if (epochs) {
    LOCKSTEP_RETURN_IF_ERROR(epochs->next());
    for (unsigned replica : ranksOf(cluster.replicasHere()))
      LOCKSTEP_RETURN_IF_ERROR(
          cluster.bindBatches(program, replica, epochs->inputs(replica)));
    return DataPlace{epochs->epoch(), epochs->cursor(), true};
  }
  if (!batches)
    return DataPlace{};
  Expected<const Batch *> batch =
      training::bindNext(*batches, cluster, program);
  if (!batch)
    return batch.status();
  return DataPlace{(*batch)->epoch, (*batch)->next, (*batch)->endsEpoch};
}

DataPlace DataSource::placeAt(const DataCursor &cursor) const {
  if (isEmpty())
    return {};
  if (epochs || batches->batchesFrom(cursor.position) <= 1)
    return {cursor.epoch, {cursor.epoch + 1, 0}, true};
  return {cursor.epoch, {cursor.epoch, cursor.position + globalBatch()}, false};
}

uint64_t DataSource::globalBatch() const {
  return epochs ? epochs->filler().globalBatch() : batches->globalBatch();
}
uint64_t DataSource::batchesFrom(uint64_t position) const {
  return epochs ? epochs->filler().batchesFrom(position)
                : batches->batchesFrom(position);
}
uint64_t DataSource::droppedExamples() const {
  return epochs ? epochs->filler().droppedExamples()
                : batches->droppedExamples();
}

} // namespace lockstep::training

//===- BatchFiller.cpp - copies examples into batches ---------------------===//

#include "runtime/data/BatchFiller.h"

#include "runtime/data/Distribution.h"
#include "runtime/data/Shuffle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lockstep::runtime {

BatchFiller::BatchFiller(BatchLayout layout, const BatchOptions &options)
    : batchLayout(std::move(layout)), mode(options.mode),
      remainder(options.remainder), replicas(options.replicas),
      batchSize(trains() && options.globalBatch ? options.globalBatch
                                                : allRows()),
      seed(options.seed), cursor(options.start) {}

Status BatchFiller::check() const {
  uint64_t examples = batchLayout.examples;
  if (batchLayout.rows == 0 || batchLayout.fields.empty())
    return invalidArgument(
        "expected a program that takes batches, found one without inputs");
  if (examples == 0)
    return invalidArgument(
        fmt::format("'{}': expected examples, found none", batchLayout.source));
  std::string global = fmt::format("{} ({} replicas with {} rows)",
                                   globalBatch(), replicas, batchLayout.rows);
  if (drops() && examples < globalBatch())
    return invalidArgument(fmt::format(
        "'{}': expected at least a global batch of {}, found {} examples",
        batchLayout.source, global, examples));
  if (!trains() && !batchLayout.mask && !batchLayout.rowsVary() &&
      examples % globalBatch() != 0)
    return invalidArgument(fmt::format(
        "'{}': expected a multiple of the global batch of {}, because the "
        "program has no "
        "input 'mask' that could tell padding from examples; found {} examples",
        batchLayout.source, global, examples));
  if (cursor.position > examples)
    return invalidArgument(
        fmt::format("'{}': expected a position of at most {}, found {}",
                    batchLayout.source, examples, cursor.position));
  return checkRows();
}

Status BatchFiller::checkRows() const {
  if (globalBatch() > allRows())
    return invalidArgument(fmt::format("expected a global batch of at most {} "
                                       "({} replicas with {} rows), found {}",
                                       allRows(), replicas, batchLayout.rows,
                                       globalBatch()));
  uint64_t last = batchLayout.examples % globalBatch(),
           lastOfFirstEpoch =
               (batchLayout.examples - cursor.position) % globalBatch();
  bool vary = trains() && (globalBatch() != allRows() ||
                           (!drops() && (last != 0 || lastOfFirstEpoch != 0)));
  if (vary && !batchLayout.rowsVary())
    return invalidArgument(fmt::format(
        "expected a program whose number of rows is known at run time only, "
        "because {} examples in batches of {} "
        "give {} replicas different numbers of rows; found one that always "
        "takes {}",
        batchLayout.examples, globalBatch(), replicas, batchLayout.rows));
  return Status::success();
}

uint64_t BatchFiller::batchesFrom(uint64_t position) const {
  uint64_t examples = batchLayout.examples - position;
  return examples / globalBatch() + (!drops() && examples % globalBatch() != 0);
}

uint64_t BatchFiller::droppedExamples() const {
  return drops() ? batchLayout.examples % globalBatch() : 0;
}

bool BatchFiller::isEndOfEpoch(uint64_t position) const {
  uint64_t left = batchLayout.examples - position;
  return drops() ? left < globalBatch() : left == 0;
}

Status BatchFiller::fill(std::span<std::byte *const> inputs, Batch &batch) {
  // Only the initial cursor can be at the end of an epoch.
  if (isEndOfEpoch(cursor.position)) {
    cursor = {cursor.epoch + 1, 0};
    order.clear();
  }
  if (trains() && order.empty())
    order = shuffledOrder(seed, cursor.epoch, batchLayout.examples);

  uint64_t end =
      std::min(cursor.position + globalBatch(), batchLayout.examples);
  batch.epoch = cursor.epoch;
  batch.examples = end - cursor.position;
  for (unsigned replica = 0; replica < replicas; ++replica) {
    if (!inputs[replica])
      continue;
    // With a dynamic number of rows, the examples of the batch are divided
    // among the replicas. Otherwise each replica has the same number of rows,
    // and those after the last example are padding.
    RowRange own = pieceOfBatch(
        batchLayout.rowsVary() ? batch.examples : allRows(), replicas, replica);
    uint64_t first = std::min(cursor.position + own.first, end);
    LOCKSTEP_RETURN_IF_ERROR(
        fillReplica(inputs[replica], first, std::min(own.count, end - first)));
  }

  batch.endsEpoch = isEndOfEpoch(end);
  cursor = batch.endsEpoch ? DataCursor{cursor.epoch + 1, 0}
                           : DataCursor{cursor.epoch, end};
  if (batch.endsEpoch)
    order.clear();
  batch.next = cursor;
  return Status::success();
}

Status BatchFiller::fillReplica(std::byte *input, uint64_t first,
                                uint64_t count) const {
  for (const BatchField &field : batchLayout.fields) {
    std::byte *target = input + field.offset;
    uint64_t size = field.rowBytes;
    if (order.empty() && count > 0)
      LOCKSTEP_RETURN_IF_ERROR(
          field.array->read(first * size, {target, count * size}));
    for (uint64_t row = 0; row < count && !order.empty(); ++row)
      LOCKSTEP_RETURN_IF_ERROR(field.array->read(order[first + row] * size,
                                                 {target + row * size, size}));
    std::memset(target + count * size, 0, (batchLayout.rows - count) * size);
  }
  if (batchLayout.mask)
    fillMask(input, count);
  for (uint64_t offset : batchLayout.sizeOffsets)
    std::memcpy(input + offset, &count, sizeof(count));
  return Status::success();
}

void BatchFiller::fillMask(std::byte *input, uint64_t count) const {
  std::byte *target = input + batchLayout.mask->offset;
  if (batchLayout.mask->element == artifact::ElementType::i1) {
    std::memset(target, 1, count);
    std::memset(target + count, 0, batchLayout.rows - count);
    return;
  }
  for (uint64_t row = 0; row < batchLayout.rows; ++row) {
    float value = row < count ? 1.0f : 0.0f;
    std::memcpy(target + row * sizeof(float), &value, sizeof(float));
  }
}

} // namespace lockstep::runtime

//===- EpochBatches.cpp - all batches of an epoch at once -----------------===//

#include "runtime/data/EpochBatches.h"

#include "runtime/support/Checked.h"

#include <algorithm>

namespace lockstep::runtime {

Expected<std::unique_ptr<EpochBatches>>
EpochBatches::create(BatchLayout layout, const BatchOptions &options) {
  std::unique_ptr<EpochBatches> result(
      new EpochBatches(std::move(layout), options));
  const BatchFiller &filler = result->batchFiller;
  LOCKSTEP_RETURN_IF_ERROR(filler.check());
  uint64_t stride = alignUp(filler.layout().inputSize, AlignedBytes::alignment),
           batches = filler.batchesFrom(0);
  RankRange filled = options.filledReplicas();
  std::optional<uint64_t> size = checkedMultiply(stride, filled.count);
  size = size ? checkedMultiply(*size, batches) : std::nullopt;
  if (!size)
    return invalidArgument("the size of an epoch does not fit into 64 bits");
  Expected<AlignedBytes> memory = AlignedBytes::allocate(*size);
  if (!memory)
    return memory.status().withContext("the batches of an epoch");
  result->memory = std::move(*memory);
  // Gaps between the tensors of a batch are never written again.
  std::span<std::byte> bytes = result->memory.bytes();
  std::fill(bytes.begin(), bytes.end(), std::byte(0));
  result->slots.resize(batches);
  std::byte *next = bytes.data();
  for (std::vector<std::byte *> &slot : result->slots) {
    slot.resize(options.replicas);
    for (uint32_t replica = filled.first; replica < filled.end();
         ++replica, next += stride)
      slot[replica] = next;
  }
  result->replicaInputs.resize(options.replicas);
  return result;
}

Status EpochBatches::next() {
  for (std::vector<const std::byte *> &inputs : replicaInputs)
    inputs.clear();
  last.endsEpoch = false;
  for (auto slot = slots.begin(); !last.endsEpoch; ++slot) {
    LOCKSTEP_RETURN_IF_ERROR(batchFiller.fill(*slot, last));
    for (size_t replica = 0; replica < replicaInputs.size(); ++replica)
      replicaInputs[replica].push_back((*slot)[replica]);
  }
  return Status::success();
}

} // namespace lockstep::runtime

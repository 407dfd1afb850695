//===- CollectivePlan.cpp - from a start command to ranges and tiles ------===//

#include "runtime/collectives/CollectivePlan.h"

#include "runtime/artifact/Types.h"
#include "runtime/collectives/ReduceTree.h"

#include <fmt/format.h>

namespace lockstep::runtime {

using artifact::Buffer;
using artifact::CollectiveKind;

static Slice sliceOf(const Buffer *buffer) {
  return {buffer->offset(), uint32_t(buffer->space())};
}

static bool isShared(const Buffer *buffer) {
  return buffer->space() == artifact::Space::shared || buffer->space() == artifact::Space::variable;
}

static bool continues(const Slice &first, uint64_t bytes, const Slice &second) {
  return first.space == second.space && first.offset + bytes == second.offset;
}

static void addRange(CollectivePlan &plan, const Buffer *operand, const Buffer *result) {
  ReduceRange range;
  range.operand = sliceOf(operand);
  range.result = sliceOf(result);
  range.functions = &reduceFunctions(operand->type()->element(), plan.reduction);
  range.resultSize = uint32_t(elementSize(result->type()->element()));
  range.elements = result->size() / range.resultSize;
  range.blockElements = reduceBlockBytes / range.functions->accumulatorSize;
  range.direct = isShared(result) && operand->space() != result->space() &&
                 range.resultSize == range.functions->accumulatorSize;
  if (range.elements == 0)
    return;
  // Slices of a reduce_scatter are strided by member, which merging would break.
  if (!plan.ranges.empty() && plan.kind == CollectiveKind::all_reduce) {
    ReduceRange &last = plan.ranges.back();
    if (last.functions == range.functions && last.resultSize == range.resultSize &&
        last.direct == range.direct &&
        continues(last.operand, last.elements * last.functions->elementSize, range.operand) &&
        continues(last.result, last.elements * last.resultSize, range.result)) {
      last.elements += range.elements;
      return;
    }
  }
  plan.ranges.push_back(range);
}

static void addGather(CollectivePlan &plan, const Buffer *operand, const Buffer *result,
                      int32_t axis) {
  GatherOperand gather;
  gather.operand = sliceOf(operand);
  gather.result = sliceOf(result);
  gather.operandBytes = operand->size();
  gather.resultBytes = result->size();
  gather.elementSize = uint32_t(elementSize(operand->type()->element()));
  gather.axis = axis;
  if (const auto *shape = operand->type()->shape()) {
    for (uint32_t i = 0; i < shape->size(); ++i) {
      bool dynamic = shape->Get(i) < 0;
      gather.shape.push_back(shape->Get(i));
      gather.registers.push_back(dynamic ? operand->size_registers()->Get(i) : -1);
      gather.dynamic |= dynamic;
    }
  }
  if (const auto *shape = result->type()->shape(); shape && uint32_t(axis) < shape->size())
    gather.resultRows = shape->Get(uint32_t(axis));
  gather.firstDimension = plan.publishedDimensions;
  plan.publishedDimensions += uint32_t(gather.shape.size());
  plan.dynamic |= gather.dynamic;
  plan.gathers.push_back(std::move(gather));
}

void CollectivePlan::setMembers(const artifact::Artifact &artifact, uint32_t group) {
  const auto *ranks = artifact.groups()->Get(group)->ranks();
  uint32_t listed = ranks ? ranks->size() : 0;
  members.clear();
  for (uint32_t i = 0; i < (listed ? listed : artifact.replicas()); ++i)
    members.push_back(listed ? ranks->Get(i) : i);
  everybody = members.size() == artifact.replicas();
}

Expected<CollectivePlan> planCollective(const artifact::Artifact &artifact,
                                        const artifact::Program &program,
                                        const artifact::Start &start) {
  CollectivePlan plan;
  plan.kind = start.kind();
  plan.reduction = start.reduction();
  plan.channel = start.channel();
  plan.setMembers(artifact, start.group());

  bool reduces =
      plan.kind == CollectiveKind::all_reduce || plan.kind == CollectiveKind::reduce_scatter;
  uint32_t count = start.operands() ? start.operands()->size() : 0;
  for (uint32_t i = 0; i < count; ++i) {
    const Buffer *operand = program.buffers()->Get(start.operands()->Get(i));
    const Buffer *result = program.buffers()->Get(start.results()->Get(i));
    if (i && isShared(result) != plan.sharedResults)
      return unsupported("a collective with results in shared and in private memory");
    plan.sharedResults = isShared(result);
    plan.bytes += operand->size();
    if (reduces)
      addRange(plan, operand, result);
    else
      addGather(plan, operand, result,
                plan.kind == CollectiveKind::all_gather ? start.axis() : 0);
  }

  for (ReduceRange &range : plan.ranges) {
    range.firstTile = plan.tiles;
    uint64_t blocks = (range.elements + range.blockElements - 1) / range.blockElements;
    if (plan.kind == CollectiveKind::reduce_scatter)
      blocks *= plan.members.size();
    plan.tiles += int64_t(blocks);
  }
  // One tile reads one member's operand and writes it wherever it belongs.
  if (plan.kind == CollectiveKind::all_gather)
    plan.tiles = int64_t(plan.gathers.size() * plan.members.size());
  else if (plan.kind == CollectiveKind::broadcast)
    plan.tiles = int64_t(plan.gathers.size());
  return plan;
}

uint64_t collectiveScratchBytes(uint32_t members) {
  return (uint64_t(reduceScratchBlocks(members)) + 2) * reduceBlockBytes +
         members * sizeof(void *);
}

} // namespace lockstep::runtime

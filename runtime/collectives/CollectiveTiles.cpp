//===- CollectiveTiles.cpp - what one tile of a collective does -----------===//

#include "runtime/artifact/Types.h"
#include "runtime/collectives/CollectivePlan.h"
#include "runtime/collectives/ReduceTree.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace lockstep::runtime {

using artifact::CollectiveKind;

/// Writes a finished block to `result` of the member, or of all of them.
static void storeBlock(const CollectivePlan &plan, MemberBases bases, const ReduceRange &range,
                       uint64_t firstElement, uint64_t count, const std::byte *acc,
                       std::byte *rounded, uint32_t onlyMember) {
  const ReduceFunctions &functions = *range.functions;
  uint64_t bytes = count * range.resultSize;
  const std::byte *block = acc;
  if (range.resultSize != functions.accumulatorSize) {
    functions.store(rounded, acc, int64_t(count));
    block = rounded;
  }
  uint64_t offset = firstElement * range.resultSize;
  uint32_t members = uint32_t(plan.members.size());
  uint32_t first = onlyMember == ~0u ? 0 : onlyMember;
  uint32_t last = onlyMember != ~0u ? onlyMember + 1 : plan.sharedResults ? 1 : members;
  for (uint32_t i = first; i < last; ++i)
    functions.copy(range.result.in(bases[i]) + offset, block, int64_t(bytes));
}

static void reduceTile(const CollectivePlan &plan, MemberBases bases, int64_t tile,
                       std::byte *scratch) {
  auto next = std::upper_bound(
      plan.ranges.begin(), plan.ranges.end(), tile,
      [](int64_t value, const ReduceRange &range) { return value < range.firstTile; });
  const ReduceRange &range = *std::prev(next);
  uint64_t block = uint64_t(tile - range.firstTile);
  uint32_t members = uint32_t(plan.members.size());
  uint32_t onlyMember = ~0u;
  uint64_t sourceElement = 0;
  if (plan.kind == CollectiveKind::reduce_scatter) {
    uint64_t blocks = (range.elements + range.blockElements - 1) / range.blockElements;
    onlyMember = uint32_t(block / blocks);
    block %= blocks;
    sourceElement = onlyMember * range.elements;
  }
  uint64_t first = block * range.blockElements;
  uint64_t count = std::min(range.blockElements, range.elements - first);
  const ReduceFunctions &functions = *range.functions;
  uint64_t offset = (sourceElement + first) * functions.elementSize;

  const std::byte *fewSources[64];
  const std::byte **sources = fewSources;
  if (members > std::size(fewSources))
    sources = reinterpret_cast<const std::byte **>(
        scratch + (uint64_t(reduceScratchBlocks(members)) + 2) * reduceBlockBytes);
  for (uint32_t i = 0; i < members; ++i)
    sources[i] = range.operand.in(bases[i]) + offset;

  if (members == 1) {
    std::byte *result = range.result.in(bases[0]) + first * range.resultSize;
    if (range.resultSize != functions.elementSize)
      functions.load(result, sources[0], int64_t(count));
    else if (result != sources[0])
      std::memcpy(result, sources[0], count * functions.elementSize);
    return;
  }
  if (range.direct)
    return reduceTree(functions, range.result.in(bases[0]) + first * range.resultSize,
                      sources, members, int64_t(count), scratch);
  std::byte *acc = scratch, *rounded = scratch + reduceBlockBytes;
  reduceTree(functions, acc, sources, members, int64_t(count), scratch + 2 * reduceBlockBytes);
  storeBlock(plan, bases, range, first, count, acc, rounded, onlyMember);
}

/// The shape of a gather's operand seen as [outer][axis][inner], in elements.
struct GatherExtent {
  uint64_t outer = 1, axis = 1, inner = 1;
};

static GatherExtent extentOf(const GatherOperand &gather, const int64_t *dimensions) {
  GatherExtent extent;
  for (size_t i = 0; i < gather.shape.size(); ++i) {
    uint64_t size = uint64_t(dimensions[gather.firstDimension + i]);
    (i < size_t(gather.axis) ? extent.outer : i == size_t(gather.axis) ? extent.axis
                                                                       : extent.inner) *= size;
  }
  return extent;
}

static void gatherTile(const CollectivePlan &plan, MemberBases bases, const int64_t *dimensions,
                       int64_t tile) {
  uint32_t members = uint32_t(plan.members.size());
  const GatherOperand &gather = plan.gathers[size_t(tile) / members];
  uint32_t source = uint32_t(size_t(tile) % members);
  uint64_t before = 0, total = 0;
  for (uint32_t i = 0; i < members; ++i) {
    uint64_t rows = extentOf(gather, dimensions + i * plan.publishedDimensions).axis;
    before += i < source ? rows : 0;
    total += rows;
  }
  GatherExtent extent = extentOf(gather, dimensions + source * plan.publishedDimensions);
  uint64_t inner = extent.inner * gather.elementSize;
  uint64_t chunk = extent.axis * inner;
  if (chunk == 0)
    return;
  const std::byte *from = gather.operand.in(bases[source]);
  for (uint32_t i = 0; i < (plan.sharedResults ? 1 : members); ++i) {
    std::byte *to = gather.result.in(bases[i]) + before * inner;
    if (members == 1 && to == from)
      continue;
    for (uint64_t row = 0; row < extent.outer; ++row)
      std::memcpy(to + row * total * inner, from + row * chunk, chunk);
  }
}

static void broadcastTile(const CollectivePlan &plan, MemberBases bases, int64_t tile) {
  const GatherOperand &gather = plan.gathers[size_t(tile)];
  const std::byte *from = gather.operand.in(bases[0]);
  for (size_t i = 0; i < (plan.sharedResults ? 1 : plan.members.size()); ++i)
    if (std::byte *to = gather.result.in(bases[i]); to != from)
      std::memcpy(to, from, gather.operandBytes);
}

void runCollectiveTile(const CollectivePlan &plan, MemberBases bases, const int64_t *dimensions,
                       int64_t tile, std::byte *scratch) {
  switch (plan.kind) {
  case CollectiveKind::all_reduce:
  case CollectiveKind::reduce_scatter:
    return reduceTile(plan, bases, tile, scratch);
  case CollectiveKind::all_gather:
    return gatherTile(plan, bases, dimensions, tile);
  case CollectiveKind::broadcast:
    return broadcastTile(plan, bases, tile);
  default:
    return;
  }
}

Status checkDimensions(const CollectivePlan &plan, const int64_t *dimensions) {
  auto outOfRange = [](std::string message) {
    return Status(StatusCode::outOfRange, std::move(message));
  };
  for (const GatherOperand &gather : plan.gathers) {
    if (plan.kind != CollectiveKind::all_gather)
      continue;
    uint64_t total = 0;
    int64_t rows = 0;
    GatherExtent first = extentOf(gather, dimensions);
    for (uint32_t i = 0; i < plan.members.size(); ++i) {
      const int64_t *row = dimensions + i * plan.publishedDimensions;
      std::vector<int64_t> shape(row + gather.firstDimension,
                                 row + gather.firstDimension + gather.shape.size());
      std::optional<uint64_t> bytes = gather.elementSize;
      for (int64_t dimension : shape)
        bytes = bytes && dimension >= 0 ? checkedMultiply(*bytes, uint64_t(dimension))
                                        : std::nullopt;
      if (!bytes || *bytes > gather.operandBytes)
        return outOfRange(fmt::format("replica {} gives an operand of shape [{}], its bound is {} "
                                      "bytes",
                                      plan.members[i], fmt::join(shape, ", "),
                                      gather.operandBytes));
      GatherExtent extent = extentOf(gather, row);
      if (extent.outer != first.outer || extent.inner != first.inner)
        return outOfRange(fmt::format("operands of replicas {} and {} differ in another dimension "
                                      "than axis {}",
                                      plan.members[0], plan.members[i], gather.axis));
      total += *bytes;
      rows += shape[uint32_t(gather.axis)];
    }
    if (gather.resultRows >= 0 && rows != gather.resultRows)
      return outOfRange(fmt::format("expected {} rows in the result, found {} from {} replicas",
                                    gather.resultRows, rows, plan.members.size()));
    if (total > gather.resultBytes)
      return outOfRange(fmt::format("the operands have {} bytes, the bound of the result is {}",
                                    total, gather.resultBytes));
  }
  return Status::success();
}

} // namespace lockstep::runtime

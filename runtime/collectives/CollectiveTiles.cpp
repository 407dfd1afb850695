//===- CollectiveTiles.cpp - execution of one tile ------------------------===//

#include "runtime/collectives/CollectivePlan.h"
#include "runtime/collectives/ReduceTree.h"
#include "runtime/schema/RoleInfo.h"
#include "runtime/schema/Types.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include <fmt/format.h>

namespace lockstep::runtime {

using artifact::CollectiveKind;

/// Writes a finished block to `result` of the member, or of all of them.
static void storeBlock(const CollectivePlan &plan, MemberBases bases,
                       const ReduceRange &range, uint64_t firstElement,
                       uint64_t count, const std::byte *acc, std::byte *rounded,
                       uint32_t onlyMember) {
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
  uint32_t last = onlyMember != ~0u    ? onlyMember + 1
                  : plan.sharedResults ? 1
                                       : members;
  for (uint32_t i = first; i < last; ++i)
    functions.copy(range.result.in(bases[i]) + offset, block, int64_t(bytes));
}

static void reduceTile(const CollectivePlan &plan, MemberBases bases,
                       int64_t tile, std::byte *scratch) {
  auto next = std::upper_bound(plan.ranges.begin(), plan.ranges.end(), tile,
                               [](int64_t value, const ReduceRange &range) {
                                 return value < range.firstTile;
                               });
  const ReduceRange &range = *std::prev(next);
  uint64_t block = uint64_t(tile - range.firstTile);
  uint32_t members = uint32_t(plan.members.size());
  uint32_t onlyMember = plan.kind == CollectiveKind::reduce ? plan.root : ~0u;
  uint64_t sourceElement = 0;
  if (plan.kind == CollectiveKind::reduce_scatter) {
    uint64_t blocks =
        (range.elements + range.blockElements - 1) / range.blockElements;
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
        scratch + (uint64_t(scratchBlocks(members)) + 2) * reduceBlockBytes);
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
    return reduceTree(functions,
                      range.result.in(bases[0]) + first * range.resultSize,
                      sources, members, int64_t(count), scratch);
  std::byte *acc = scratch, *rounded = scratch + reduceBlockBytes;
  reduceTree(functions, acc, sources, members, int64_t(count),
             scratch + 2 * reduceBlockBytes);
  storeBlock(plan, bases, range, first, count, acc, rounded, onlyMember);
}

/// The shape of a gather's operand seen as [outer][axis][inner], in elements.
struct GatherExtent {
  uint64_t outer = 1, axis = 1, inner = 1;
};

static GatherExtent extentOf(const GatherOperand &gather,
                             const int64_t *dimensions) {
  GatherExtent extent;
  for (size_t i = 0; i < gather.shape.size(); ++i) {
    uint64_t size = uint64_t(dimensions[gather.firstDimension + i]);
    (i < size_t(gather.axis)    ? extent.outer
     : i == size_t(gather.axis) ? extent.axis
                                : extent.inner) *= size;
  }
  return extent;
}

/// Address of a member's operand, in its memory or in a received message.
static const std::byte *operandOf(const CollectivePlan &plan,
                                  const CollectiveMemory &memory,
                                  const GatherOperand &gather,
                                  uint32_t member) {
  if (plan.isLocal(member))
    return gather.operand.in(memory.bases[member - plan.firstLocal]);
  return memory
      .remote[size_t(&gather - plan.gathers.data()) * plan.members.size() +
              member];
}

/// The members of this session that get results of a gather or broadcast:
/// [first, last) of `CollectiveMemory::bases`.
static std::pair<uint32_t, uint32_t> receivers(const CollectivePlan &plan) {
  if (!plan.hasResults)
    return {0, 0};
  if (plan.kind == CollectiveKind::gather)
    return plan.isLocal(plan.root) ? std::pair(plan.root - plan.firstLocal,
                                               plan.root - plan.firstLocal + 1)
                                   : std::pair(0u, 0u);
  return {0, plan.sharedResults ? 1 : plan.localCount};
}

static void gatherTile(const CollectivePlan &plan,
                       const CollectiveMemory &memory, int64_t tile,
                       CopySink &sink) {
  uint32_t members = uint32_t(plan.members.size());
  const GatherOperand &gather = plan.gathers[size_t(tile) / members];
  uint32_t source = uint32_t(size_t(tile) % members);
  auto [first, last] = receivers(plan);
  if (!plan.contributes(source) || first == last)
    return;
  uint64_t before = 0, total = 0;
  for (uint32_t i = 0; i < members; ++i) {
    uint64_t rows =
        plan.contributes(i)
            ? extentOf(gather, memory.dimensions + i * plan.publishedDimensions)
                  .axis
            : 0;
    before += i < source ? rows : 0;
    total += rows;
  }
  GatherExtent extent =
      extentOf(gather, memory.dimensions + source * plan.publishedDimensions);
  uint64_t inner = extent.inner * gather.elementSize;
  uint64_t chunk = extent.axis * inner;
  if (chunk == 0)
    return;
  const std::byte *from = operandOf(plan, memory, gather, source);
  for (uint32_t i = first; i < last; ++i) {
    std::byte *to = gather.result.in(memory.bases[i]) + before * inner;
    if (members == 1 && to == from)
      continue;
    sink.copy({to, from, extent.outer, chunk, total * inner, chunk});
  }
}

static void broadcastTile(const CollectivePlan &plan,
                          const CollectiveMemory &memory, int64_t tile,
                          CopySink &sink) {
  const GatherOperand &gather = plan.gathers[size_t(tile)];
  GatherExtent extent = extentOf(
      gather, memory.dimensions + plan.root * plan.publishedDimensions);
  uint64_t bytes =
      extent.outer * extent.axis * extent.inner * gather.elementSize;
  const std::byte *from = operandOf(plan, memory, gather, plan.root);
  auto [first, last] = receivers(plan);
  for (uint32_t i = first; i < last; ++i)
    if (std::byte *to = gather.result.in(memory.bases[i]); to != from && bytes)
      sink.copy({to, from, 1, bytes, bytes, bytes});
}

/// The rows of members are consecutive in the received rows, or in all rows of
/// a local root.
static void scatterTile(const CollectivePlan &plan,
                        const CollectiveMemory &memory, int64_t tile,
                        CopySink &sink) {
  const GatherOperand &gather = plan.gathers[0];
  uint32_t member = plan.firstLocal + uint32_t(tile);
  if (member == plan.root)
    return;
  uint64_t before = 0;
  for (uint32_t i = plan.isLocal(plan.root) ? 0 : plan.firstLocal; i < member;
       ++i)
    before += i == plan.root ? 0 : uint64_t(memory.dimensions[i]);
  uint64_t bytes = uint64_t(memory.dimensions[member]) * gather.rowBytes;
  if (bytes)
    sink.copy(
        {gather.result.in(memory.bases[tile]),
         operandOf(plan, memory, gather, plan.root) + before * gather.rowBytes,
         1, bytes, bytes, bytes});
}

void copyCollectiveTile(const CollectivePlan &plan,
                        const CollectiveMemory &memory, int64_t tile,
                        CopySink &sink) {
  const CollectiveProperties &kind = plan.properties();
  if (kind.isMoved())
    return copyMove(plan, memory, plan.moves[size_t(tile)], sink);
  if (kind.concatenates())
    return gatherTile(plan, memory, tile, sink);
  if (kind.shape == ShapeRule::rows)
    return scatterTile(plan, memory, tile, sink);
  if (plan.kind == CollectiveKind::broadcast)
    return broadcastTile(plan, memory, tile, sink);
}

void HostCopies::copy(const RowCopy &rows) {
  for (uint64_t row = 0; row < rows.rows; ++row)
    std::memcpy(rows.to + row * rows.toStride,
                rows.from + row * rows.fromStride, rows.rowBytes);
}

void HostCopies::clear(std::byte *to, uint64_t bytes) {
  std::memset(to, 0, bytes);
}

void runCollectiveTile(const CollectivePlan &plan,
                       const CollectiveMemory &memory, int64_t tile,
                       std::byte *scratch) {
  if (plan.properties().isReduction)
    return reduceTile(plan, memory.bases, tile, scratch);
  HostCopies copies;
  copyCollectiveTile(plan, memory, tile, copies);
}

//===----------------------------------------------------------------------===//
// Sizes known at run time
//===----------------------------------------------------------------------===//

static Status outOfRange(std::string message) {
  return {StatusCode::outOfRange, std::move(message)};
}

void setCounts(const CollectivePlan &plan, const CollectiveMemory &memory,
               const std::byte *counts) {
  for (uint32_t i = 0, other = 0; i < plan.members.size(); ++i)
    if (i != plan.root)
      std::memcpy(&memory.dimensions[i], counts + sizeof(int64_t) * other++,
                  sizeof(int64_t));
}

void readCounts(const CollectivePlan &plan, const CollectiveMemory &memory) {
  setCounts(
      plan, memory,
      plan.gathers[0].counts.in(memory.bases[plan.root - plan.firstLocal]));
}

Expected<uint64_t> operandBytes(const CollectivePlan &plan,
                                const GatherOperand &gather, const int64_t *row,
                                uint32_t member) {
  std::span<const int64_t> shape(row + gather.firstDimension,
                                 gather.shape.size());
  bool isScatter = plan.kind == CollectiveKind::scatter;
  uint64_t bound = plan.isLocal(member) && plan.hasOperands
                       ? gather.operandBytes
                       : std::max(gather.operandBytes, gather.resultBytes);
  std::optional<uint64_t> bytes =
      isScatter ? gather.rowBytes : gather.elementSize;
  for (int64_t dimension : shape)
    bytes = bytes && dimension >= 0
                ? checkedMultiply(*bytes, uint64_t(dimension))
                : std::nullopt;
  if (!bytes || *bytes > bound)
    return outOfRange(fmt::format(
        "replica {} gives an operand of shape [{}], its bound is {} bytes",
        plan.members[member], fmt::join(shape, ", "), bound));
  return *bytes;
}

static Status checkScatter(const CollectivePlan &plan, const int64_t *rows) {
  const GatherOperand &gather = plan.gathers[0];
  bool rootIsHere = plan.isLocal(plan.root);
  uint64_t sum = 0;
  for (uint32_t i = rootIsHere ? 0 : plan.firstLocal;
       i <
       (rootIsHere ? plan.members.size() : plan.firstLocal + plan.localCount);
       ++i) {
    if (i == plan.root)
      continue;
    uint64_t limit = std::max(gather.operandBytes, gather.resultBytes) /
                     std::max<uint64_t>(gather.rowBytes, 1);
    if (rows[i] < 0 || (gather.rowBytes && uint64_t(rows[i]) > limit))
      return outOfRange(
          fmt::format("replica {} is to get {} rows, expected 0 to {}",
                      plan.members[i], rows[i], limit));
    sum += uint64_t(rows[i]);
    if (!plan.isLocal(i))
      continue;
    if (gather.resultRows >= 0
            ? rows[i] != gather.resultRows
            : uint64_t(rows[i]) * gather.rowBytes > gather.resultBytes)
      return outOfRange(fmt::format(
          "replica {} is to get {} rows, its result has {}", plan.members[i],
          rows[i],
          gather.resultRows >= 0
              ? fmt::format("{}", gather.resultRows)
              : fmt::format("room for {} bytes", gather.resultBytes)));
  }
  if (!rootIsHere)
    return Status::success();
  if (Expected<uint64_t> bytes =
          operandBytes(plan, gather, rows + plan.root, plan.root);
      !bytes)
    return bytes.status();
  if (sum > uint64_t(rows[plan.root]))
    return outOfRange(fmt::format(
        "expected counts of at most {} rows, found {}", rows[plan.root], sum));
  return Status::success();
}

static Status checkGather(const CollectivePlan &plan,
                          const GatherOperand &gather,
                          const int64_t *dimensions) {
  uint64_t total = 0;
  int64_t rows = 0;
  uint32_t first = plan.contributes(0) ? 0 : 1;
  GatherExtent expected =
      extentOf(gather, dimensions + first * plan.publishedDimensions);
  for (uint32_t i = first; i < plan.members.size(); ++i) {
    if (!plan.contributes(i))
      continue;
    const int64_t *row = dimensions + i * plan.publishedDimensions;
    Expected<uint64_t> bytes = operandBytes(plan, gather, row, i);
    if (!bytes)
      return bytes.status();
    GatherExtent extent = extentOf(gather, row);
    if (extent.outer != expected.outer || extent.inner != expected.inner)
      return outOfRange(fmt::format(
          "operands of replicas {} and {} differ in another dimension "
          "than axis {}",
          plan.members[first], plan.members[i], gather.axis));
    total += *bytes;
    rows += row[gather.firstDimension + uint32_t(gather.axis)];
  }
  if (!plan.hasResults ||
      (plan.kind == CollectiveKind::gather && !plan.isLocal(plan.root)))
    return Status::success();
  if (gather.resultRows >= 0 && rows != gather.resultRows)
    return outOfRange(
        fmt::format("expected {} rows in the result, found {} from {} replicas",
                    gather.resultRows, rows, plan.members.size()));
  if (total > gather.resultBytes)
    return outOfRange(
        fmt::format("the operands have {} bytes, the bound of the result is {}",
                    total, gather.resultBytes));
  return Status::success();
}

Status checkDimensions(const CollectivePlan &plan, const int64_t *dimensions) {
  if (plan.kind == CollectiveKind::scatter)
    return checkScatter(plan, dimensions);
  for (const GatherOperand &gather : plan.gathers) {
    Status status =
        plan.kind == CollectiveKind::broadcast
            ? operandBytes(plan, gather,
                           dimensions + plan.root * plan.publishedDimensions,
                           plan.root)
                  .status()
            : checkGather(plan, gather, dimensions);
    if (!status.ok())
      return status;
  }
  return Status::success();
}

} // namespace lockstep::runtime

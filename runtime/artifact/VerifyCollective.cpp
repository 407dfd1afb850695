//===- VerifyCollective.cpp - operands and results of one collective ------===//

#include "runtime/artifact/Types.h"
#include "runtime/artifact/Verifier.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime::verify {
namespace {

using artifact::Buffer;
using artifact::CollectiveKind;
using artifact::Reduction;
using artifact::Space;

bool isDynamic(const Buffer *buffer) {
  for (uint32_t i = 0; i < count(buffer->type()->shape()); ++i)
    if (buffer->type()->shape()->Get(i) < 0)
      return true;
  return false;
}

/// Elements that have room in a buffer. Widths differ where a reduction does not round its result.
uint64_t capacity(const Buffer *buffer) {
  return buffer->size() / elementSize(buffer->type()->element());
}

Status sameShape(const Buffer *operand, const Buffer *result, uint32_t index) {
  const auto *left = operand->type()->shape(), *right = result->type()->shape();
  bool same = capacity(operand) == capacity(result) && count(left) == count(right);
  for (uint32_t i = 0; same && i < count(left); ++i)
    same = left->Get(i) == right->Get(i);
  if (!same)
    return corrupted(fmt::format("operand {} and its result differ in shape or size ({} and {} "
                                 "bytes)",
                                 index, operand->size(), result->size()));
  return Status::success();
}

/// The result is the operands of all members side by side along `axis`.
Status gatherShape(const Buffer *operand, const Buffer *result, int32_t axis, uint32_t members,
                   uint32_t index) {
  const auto *left = operand->type()->shape(), *right = result->type()->shape();
  if (count(left) != count(right) || axis < 0 || uint32_t(axis) >= count(left))
    return corrupted(fmt::format("operand {}: axis {} does not exist in both, operand (rank {}) "
                                 "and result (rank {})",
                                 index, axis, count(left), count(right)));
  for (uint32_t i = 0; i < count(left); ++i) {
    int64_t from = left->Get(i), to = right->Get(i);
    int64_t expected = i == uint32_t(axis) && from > 0 ? from * int64_t(members) : from;
    if (from >= 0 && to >= 0 && to != expected)
      return corrupted(fmt::format("operand {}, dimension {}: expected {} in the result of {} "
                                   "members, found {}",
                                   index, i, expected, members, to));
  }
  return Status::success();
}

Status scatterShape(const Buffer *operand, const Buffer *result, int32_t axis, uint32_t members,
                    uint32_t index) {
  if (axis != 0)
    return unsupported(fmt::format("reduce_scatter along axis {}, only 0 is supported", axis));
  if (isDynamic(operand) || isDynamic(result) || capacity(operand) != capacity(result) * members)
    return corrupted(fmt::format("operand {}: expected {} times the {} bytes of its result, "
                                 "found {}",
                                 index, members, result->size(), operand->size()));
  return Status::success();
}

struct Range {
  Space space;
  uint64_t begin, end;
  int32_t operand; ///< -1 for a result
  uint32_t index;
};

/// A collective reads operands while it writes results, block by block: the two may only be the
/// same bytes (in place), and only where the block that is read is the one that is written.
Status verifyAliasing(const artifact::Program &program, const artifact::Start &start,
                      bool inPlace) {
  std::vector<Range> ranges;
  for (uint32_t i = 0; i < count(start.operands()); ++i) {
    const Buffer *operand = program.buffers()->Get(start.operands()->Get(i));
    const Buffer *result = program.buffers()->Get(start.results()->Get(i));
    if (operand->size())
      ranges.push_back({operand->space(), operand->offset(), operand->offset() + operand->size(),
                        int32_t(i), i});
    if (result->size())
      ranges.push_back(
          {result->space(), result->offset(), result->offset() + result->size(), -1, i});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return std::tie(a.space, a.begin, a.end) < std::tie(b.space, b.begin, b.end);
  });
  for (size_t i = 0; i < ranges.size(); ++i)
    for (size_t j = i + 1; j < ranges.size() && ranges[j].space == ranges[i].space &&
                           ranges[j].begin < ranges[i].end;
         ++j) {
      const Range &a = ranges[i], &b = ranges[j];
      if (a.operand >= 0 && b.operand >= 0)
        continue;
      bool own = a.index == b.index && a.operand != b.operand;
      if (own && inPlace && a.begin == b.begin && a.end == b.end)
        continue;
      return corrupted(fmt::format("a result overlaps the {} {} of the same collective",
                                   a.operand >= 0 || b.operand >= 0 ? "operand" : "result",
                                   a.operand >= 0 ? a.index : b.index));
    }
  return Status::success();
}

/// Whether reductions of `type` accumulate in the wider `wide`.
bool isAccumulator(artifact::ElementType type, artifact::ElementType wide) {
  return wide == artifact::ElementType::f32 &&
         (type == artifact::ElementType::f16 || type == artifact::ElementType::bf16);
}

bool reducible(artifact::ElementType type, Reduction reduction) {
  if (type == artifact::ElementType::i1)
    return reduction == Reduction::min || reduction == Reduction::max;
  return true;
}

} // namespace

Status verifyCollective(const Context &context, const artifact::Program &program,
                        const artifact::Start &start) {
  if (start.kind() > CollectiveKind::MAX || start.reduction() > Reduction::MAX)
    return corrupted("unknown collective or reduction");
  bool reduces =
      start.kind() == CollectiveKind::all_reduce || start.kind() == CollectiveKind::reduce_scatter;
  std::string kind = artifact::EnumNameCollectiveKind(start.kind());
  if (!reduces && start.kind() != CollectiveKind::all_gather &&
      start.kind() != CollectiveKind::broadcast)
    return unsupported(fmt::format("collective {} is not supported by this runtime (expected "
                                   "all_reduce, all_gather, reduce_scatter or broadcast)",
                                   kind));
  if (reduces != (start.reduction() != Reduction::none))
    return corrupted(fmt::format("{} with reduction {}", kind,
                                 artifact::EnumNameReduction(start.reduction())));
  if (count(start.operands()) != count(start.results()))
    return corrupted(fmt::format("{} has {} operands and {} results", kind,
                                 count(start.operands()), count(start.results())));

  uint32_t members = groupSize(context.artifact, start.group());
  bool wholeProcess = members == context.artifact.replicas();
  for (uint32_t i = 0; i < count(start.operands()); ++i) {
    for (uint32_t index : {start.operands()->Get(i), start.results()->Get(i)})
      if (index >= count(program.buffers()) || !program.buffers()->Get(index)->type())
        return corrupted(fmt::format("{}: buffer {} does not exist or has no type", kind, index));
    const Buffer *operand = program.buffers()->Get(start.operands()->Get(i));
    const Buffer *result = program.buffers()->Get(start.results()->Get(i));
    if (operand->type()->element() != result->type()->element() &&
        !(reduces && isAccumulator(operand->type()->element(), result->type()->element())))
      return corrupted(fmt::format("{}: operand {} is of {}, its result of {}", kind, i,
                                   elementName(operand->type()->element()),
                                   elementName(result->type()->element())));
    Space space = result->space();
    if (isReadOnly(space))
      return corrupted(fmt::format("{} writes buffer {}, which is in space {}", kind,
                                   start.results()->Get(i), artifact::EnumNameSpace(space)));
    bool sharedResult = space == Space::shared || space == Space::variable;
    if (sharedResult && !wholeProcess && !context.options.allowSharedSubgroupResults)
      return corrupted(fmt::format("{} of a part of the replicas has a result in space {}, which "
                                   "all replicas share",
                                   kind, artifact::EnumNameSpace(space)));
    if (sharedResult && members > 1 && start.kind() == CollectiveKind::reduce_scatter)
      return corrupted("reduce_scatter has a result in shared space, but results differ");
    if (reduces && !reducible(operand->type()->element(), start.reduction()))
      return unsupported(fmt::format("{} {} of {} is not supported", kind,
                                     artifact::EnumNameReduction(start.reduction()),
                                     elementName(operand->type()->element())));
    Status shape = start.kind() == CollectiveKind::all_gather
                       ? gatherShape(operand, result, start.axis(), members, i)
                   : start.kind() == CollectiveKind::reduce_scatter
                       ? scatterShape(operand, result, start.axis(), members, i)
                       : sameShape(operand, result, i);
    if (!shape.ok())
      return shape.withContext(kind);
  }
  bool inPlace = start.kind() == CollectiveKind::all_reduce ||
                 start.kind() == CollectiveKind::broadcast || members == 1;
  return verifyAliasing(program, start, inPlace);
}

} // namespace lockstep::runtime::verify

//===- VerifyCollective.cpp - operands and results of one collective ------===//

#include "runtime/artifact/Verifier.h"
#include "runtime/collectives/CollectiveKinds.h"
#include "runtime/schema/Types.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::runtime::verify {

uint64_t capacity(const artifact::Buffer *buffer) {
  return buffer->size() / elementSize(buffer->type()->element());
}

bool isAccumulator(artifact::ElementType type, artifact::ElementType wide) {
  return wide == artifact::ElementType::f32 &&
         (type == artifact::ElementType::f16 ||
          type == artifact::ElementType::bf16);
}

namespace {

using artifact::Buffer;
using artifact::Reduction;
using artifact::Space;

bool isDynamic(const Buffer *buffer) {
  for (uint32_t i = 0; i < count(buffer->type()->shape()); ++i)
    if (buffer->type()->shape()->Get(i) < 0)
      return true;
  return false;
}

Status sameShape(const Buffer *operand, const Buffer *result, uint32_t index) {
  const auto *left = operand->type()->shape(), *right = result->type()->shape();
  bool same =
      capacity(operand) == capacity(result) && count(left) == count(right);
  for (uint32_t i = 0; same && i < count(left); ++i)
    same = left->Get(i) == right->Get(i);
  if (!same)
    return corrupted(fmt::format(
        "operand {} and its result differ in shape or size ({} and {} "
        "bytes)",
        index, operand->size(), result->size()));
  return Status::success();
}

/// The result is the operands of all members side by side along `axis`.
Status gatherShape(const Buffer *operand, const Buffer *result, int32_t axis,
                   uint32_t members, uint32_t index) {
  const auto *left = operand->type()->shape(), *right = result->type()->shape();
  if (count(left) != count(right) || axis < 0 || uint32_t(axis) >= count(left))
    return corrupted(fmt::format(
        "operand {}: axis {} does not exist in both, operand (rank {}) "
        "and result (rank {})",
        index, axis, count(left), count(right)));
  for (uint32_t i = 0; i < count(left); ++i) {
    int64_t from = left->Get(i), to = right->Get(i);
    int64_t expected =
        i == uint32_t(axis) && from > 0 ? from * int64_t(members) : from;
    if (from >= 0 && to >= 0 && to != expected)
      return corrupted(fmt::format(
          "operand {}, dimension {}: expected {} in the result of {} "
          "members, found {}",
          index, i, expected, members, to));
  }
  return Status::success();
}

Status sliceShape(const Buffer *operand, const Buffer *result, int32_t axis,
                  uint32_t members, uint32_t index) {
  if (axis != 0)
    return unsupported(
        fmt::format("reduce_scatter along axis {}, only 0 is supported", axis));
  if (isDynamic(operand) || isDynamic(result) ||
      capacity(operand) != capacity(result) * members)
    return corrupted(
        fmt::format("operand {}: expected {} times the {} bytes of its result, "
                    "found {}",
                    index, members, result->size(), operand->size()));
  return Status::success();
}

/// The same static shape, divisible along the axis by the number of members.
Status partsShape(const Buffer *operand, const Buffer *result, int32_t axis,
                  uint32_t members, uint32_t index) {
  const auto *shape = operand->type()->shape();
  LOCKSTEP_RETURN_IF_ERROR(sameShape(operand, result, index));
  if (axis < 0 || uint32_t(axis) >= count(shape))
    return corrupted(
        fmt::format("operand {}: axis {} does not exist in a buffer of rank {}",
                    index, axis, count(shape)));
  if (shape->Get(uint32_t(axis)) % members != 0)
    return corrupted(
        fmt::format("operand {}, dimension {}: expected a multiple of the {} "
                    "members, found {}",
                    index, axis, members, shape->Get(uint32_t(axis))));
  return Status::success();
}

struct Range {
  Space space;
  uint64_t begin, end;
  int32_t operand; ///< -1 for a result
  uint32_t index;
};

/// A collective reads operands while it writes results, block by block: they
/// may alias only exactly (in place), and only for kinds in which each block is
/// read and written at the same position.
Status verifyAliasing(const artifact::Program &program,
                      const artifact::Start &start, bool inPlace) {
  std::vector<Range> ranges;
  auto add = [&](const flatbuffers::Vector<uint32_t> *indices,
                 bool areOperands) {
    for (uint32_t i = 0; i < count(indices); ++i)
      if (const Buffer *buffer = program.buffers()->Get(indices->Get(i));
          buffer->size())
        ranges.push_back({buffer->space(), buffer->offset(),
                          buffer->offset() + buffer->size(),
                          areOperands ? int32_t(i) : -1, i});
  };
  add(start.operands(), true);
  add(start.results(), false);
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return std::tie(a.space, a.begin, a.end) <
           std::tie(b.space, b.begin, b.end);
  });
  for (size_t i = 0; i < ranges.size(); ++i)
    for (size_t j = i + 1;
         j < ranges.size() && ranges[j].space == ranges[i].space &&
         ranges[j].begin < ranges[i].end;
         ++j) {
      const Range &a = ranges[i], &b = ranges[j];
      if (a.operand >= 0 && b.operand >= 0)
        continue;
      bool own = a.index == b.index && a.operand != b.operand;
      if (own && inPlace && a.begin == b.begin && a.end == b.end)
        continue;
      return corrupted(
          fmt::format("a result overlaps the {} {} of the same collective",
                      a.operand >= 0 || b.operand >= 0 ? "operand" : "result",
                      a.operand >= 0 ? a.index : b.index));
    }
  return Status::success();
}

bool reducible(artifact::ElementType type, Reduction reduction) {
  if (type == artifact::ElementType::i1)
    return reduction == Reduction::min || reduction == Reduction::max;
  return true;
}

/// Names of the kinds with a start command, in the order of the table.
std::string startedKinds() {
  std::vector<std::string_view> names;
  for (const CollectiveProperties &kind : CollectiveProperties::all())
    if (kind.isStarted)
      names.push_back(kind.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// How many operands and results the members of one role have: the schema's
/// comment on `Start.root`.
Status verifyCounts(const artifact::Start &start, const Membership &group,
                    const CollectiveProperties &kind) {
  uint32_t operands = count(start.operands()), results = count(start.results());
  bool isRoot = group.rootInRole, hasOthers = group.ofRole > (isRoot ? 1 : 0);
  auto error = [&](std::string_view expected) {
    return corrupted(fmt::format(
        "{} with root {}: expected {}, found {} operands and {} results",
        kind.name, group.root, expected, operands, results));
  };
  if (kind.shape == ShapeRule::rows) {
    // The operands are the rows, and the number of rows for each other member.
    bool fits = hasOthers ? results == 1 : results <= 1;
    if (operands != (isRoot ? 2 : 0) || !fits)
      return error(isRoot ? (hasOthers ? "2 operands and 1 result"
                                       : "2 operands and at most 1 result")
                          : "1 result and no operands");
    return Status::success();
  }
  if (kind.operandHolders == Holders::root) {
    if (!isRoot && operands)
      return error("no operands where the root is not");
    if (isRoot && results != operands && (hasOthers || results))
      return error("as many results as operands, or none at a root on its own");
    return Status::success();
  }
  if (kind.resultHolders == Holders::root) {
    if (!isRoot && results)
      return error("no results where the root is not");
    if (isRoot && results != operands && (hasOthers || operands))
      return error("as many operands as results, or none at a root on its own");
    return Status::success();
  }
  if (operands != results)
    return corrupted(fmt::format("{} has {} operands and {} results", kind.name,
                                 operands, results));
  return Status::success();
}

/// Rows have the same size on all members, so all dimensions except the first
/// are static.
Status scatterRows(const Buffer *rows) {
  const auto *shape = rows->type()->shape();
  if (count(shape) == 0)
    return corrupted("expected rows, found a scalar");
  for (uint32_t i = 1; i < shape->size(); ++i)
    if (shape->Get(i) < 0)
      return corrupted(fmt::format(
          "expected rows of a static size, found a dynamic dimension {}", i));
  return Status::success();
}

Status scatterCounts(const Buffer *counts, uint32_t members) {
  const auto *shape = counts->type()->shape();
  if (counts->type()->element() != artifact::ElementType::i64 ||
      count(shape) != 1 || shape->Get(0) != int64_t(members) - 1)
    return corrupted(fmt::format("expected the counts of {} other members, "
                                 "{}xi64, in a buffer of {} bytes",
                                 members - 1, members - 1,
                                 (members - 1) * sizeof(int64_t)));
  return Status::success();
}

Status verifyResult(const Context &context, const CollectiveProperties &kind,
                    const Membership &group, uint32_t index,
                    const Buffer *result) {
  Space space = result->space();
  if (isReadOnly(space))
    return corrupted(fmt::format("{} writes buffer {}, which is in space {}",
                                 kind.name, index,
                                 artifact::EnumNameSpace(space)));
  if (space != Space::shared && space != Space::variable)
    return Status::success();
  if (group.ofRole != context.role.ranks.count &&
      !context.options.allowSharedSubgroupResults)
    return corrupted(fmt::format("{} of a part of the replicas has a result in "
                                 "space {}, which all replicas share",
                                 kind.name, artifact::EnumNameSpace(space)));
  if (group.ofRole > 1 && kind.resultsDiffer)
    return corrupted(fmt::format(
        "{} has a result in shared space, but results differ", kind.name));
  if (group.ofRole > 1 && kind.resultHolders == Holders::root)
    return corrupted(
        fmt::format("{} has a result in shared space, but only its root gets "
                    "one",
                    kind.name));
  if (group.ofRole > 1 && kind.resultHolders == Holders::others)
    return corrupted(fmt::format(
        "{} has a result in shared space, but its root gets none", kind.name));
  return Status::success();
}

/// Checks an operand against the result of the same position, in a role that
/// has both.
Status verifyPair(const artifact::Start &start, const Membership &group,
                  const Buffer *operand, const Buffer *result, uint32_t i) {
  const CollectiveProperties &kind = CollectiveProperties::of(start.kind());
  if (kind.shape == ShapeRule::rows) {
    if (operand->type()->element() != result->type()->element())
      return corrupted(fmt::format("{}: the rows are of {}, the result of {}",
                                   kind.name,
                                   elementName(operand->type()->element()),
                                   elementName(result->type()->element())));
    const auto *left = operand->type()->shape(),
               *right = result->type()->shape();
    if (i == 0 &&
        !(count(left) == count(right) &&
          std::equal(left->begin() + 1, left->end(), right->begin() + 1)))
      return corrupted("scatter: the rows and the result differ in another "
                       "dimension than the first");
    return Status::success();
  }
  if (operand->type()->element() != result->type()->element() &&
      !(kind.isReduction &&
        isAccumulator(operand->type()->element(), result->type()->element())))
    return corrupted(fmt::format("{}: operand {} is of {}, its result of {}",
                                 kind.name, i,
                                 elementName(operand->type()->element()),
                                 elementName(result->type()->element())));
  // Members of different roles may have different numbers of rows;
  // VerifyChannels.cpp checks their sum.
  if (kind.concatenates() && kind.hasRoot() && group.ofRole < group.members)
    return Status::success();
  Status shape =
      kind.concatenates()
          ? gatherShape(operand, result, start.axis(), group.members, i)
      : kind.shape == ShapeRule::slice
          ? sliceShape(operand, result, start.axis(), group.members, i)
      : kind.shape == ShapeRule::parts
          ? partsShape(operand, result, start.axis(), group.members, i)
          : sameShape(operand, result, i);
  return shape.withContext(kind.name);
}

} // namespace

/// Each member is the source of at most one.
static Status verifySources(const artifact::Artifact &artifact,
                            const artifact::Start &start,
                            const CollectiveProperties &kind) {
  if (!kind.hasSources)
    return count(start.sources()) == 0
               ? Status::success()
               : corrupted(fmt::format("expected no sources, found {}",
                                       count(start.sources())));
  std::vector<uint32_t> members = ranksOf(artifact, start.group());
  if (count(start.sources()) != members.size())
    return corrupted(fmt::format("expected a source for each of {} members, "
                                 "found {}",
                                 members.size(), count(start.sources())));
  std::vector<bool> isSource(members.size(), false);
  for (int32_t source : *start.sources()) {
    if (source == -1)
      continue;
    auto found =
        std::lower_bound(members.begin(), members.end(), int64_t(source));
    if (source < 0 || found == members.end() || *found != uint32_t(source))
      return corrupted(fmt::format("source {} is not in its group", source));
    if (isSource[size_t(found - members.begin())])
      return corrupted(fmt::format("rank {} is the source of two", source));
    isSource[size_t(found - members.begin())] = true;
  }
  return Status::success();
}

Status verifyCollective(const Context &context,
                        const artifact::Program &program,
                        const artifact::Start &start) {
  if (start.kind() > artifact::CollectiveKind::MAX)
    return corrupted(fmt::format(
        "unknown kind of collective {}; this version knows those up to {}",
        int(start.kind()), int(artifact::CollectiveKind::MAX)));
  if (start.reduction() > Reduction::MAX)
    return corrupted(
        fmt::format("unknown reduction {}; this version knows those up to {}",
                    int(start.reduction()), int(Reduction::MAX)));
  const CollectiveProperties &kind = CollectiveProperties::of(start.kind());
  if (!kind.isStarted)
    return unsupported(fmt::format(
        "collective {} is not supported by this runtime (expected {})",
        kind.name, startedKinds()));
  if (kind.isReduction != (start.reduction() != Reduction::none))
    return corrupted(
        fmt::format("{} with reduction {}", kind.name,
                    artifact::EnumNameReduction(start.reduction())));
  Membership group = membershipOf(context.artifact, start.group(), start.root(),
                                  context.role.ranks);
  if (group.ofRole == 0)
    return corrupted(fmt::format("{} of a group in which role '{}' has no rank",
                                 kind.name, context.role.name));
  if (start.root() != -1 && !kind.hasRoot())
    return corrupted(
        fmt::format("{} has no root, found {}", kind.name, start.root()));
  if (!group.rootIsMember)
    return corrupted(fmt::format("{}: root {} is not in its group", kind.name,
                                 start.root()));
  LOCKSTEP_RETURN_IF_ERROR(verifyCounts(start, group, kind));
  if (kind.isPointToPoint && group.members != 2)
    return corrupted(fmt::format("{}: expected a group of 2 members, found {}",
                                 kind.name, group.members));
  LOCKSTEP_RETURN_IF_ERROR(
      verifySources(context.artifact, start, kind).withContext(kind.name));

  uint32_t operands = count(start.operands()), results = count(start.results());
  auto bufferOf = [&](const flatbuffers::Vector<uint32_t> *indices,
                      uint32_t i) {
    return program.buffers()->Get(indices->Get(i));
  };
  for (const auto *indices : {start.operands(), start.results()})
    for (uint32_t i = 0; i < count(indices); ++i)
      if (indices->Get(i) >= count(program.buffers()) ||
          !bufferOf(indices, i)->type())
        return corrupted(
            fmt::format("{}: buffer {} does not exist or has no type",
                        kind.name, indices->Get(i)));
  for (uint32_t i = 0; i < results; ++i)
    LOCKSTEP_RETURN_IF_ERROR(verifyResult(context, kind, group,
                                          start.results()->Get(i),
                                          bufferOf(start.results(), i)));
  for (uint32_t i = 0; i < std::max(operands, results); ++i) {
    const Buffer *operand =
        i < operands ? bufferOf(start.operands(), i) : nullptr;
    const Buffer *result = i < results ? bufferOf(start.results(), i) : nullptr;
    const Buffer *either = operand ? operand : result;
    if (kind.isReduction &&
        !reducible(either->type()->element(), start.reduction()))
      return unsupported(
          fmt::format("{} {} of {} is not supported", kind.name,
                      artifact::EnumNameReduction(start.reduction()),
                      elementName(either->type()->element())));
    if (kind.concatenates() && kind.hasRoot() &&
        (start.axis() < 0 ||
         uint32_t(start.axis()) >= count(either->type()->shape())))
      return corrupted(
          fmt::format("{}: axis {} does not exist in a buffer of rank {}",
                      kind.name, start.axis(), count(either->type()->shape())));
    if (kind.shape == ShapeRule::rows) {
      Status rows =
          i == 1 ? scatterCounts(operand, group.members) : scatterRows(either);
      if (rows.ok() && result)
        rows = scatterRows(result);
      if (!rows.ok())
        return rows.withContext(kind.name);
    }
    if (kind.isMoved() && isDynamic(either))
      return unsupported(fmt::format(
          "{}: expected operands of static shape, found a dynamic dimension in "
          "operand {}",
          kind.name, i));
    if (operand && result)
      LOCKSTEP_RETURN_IF_ERROR(verifyPair(start, group, operand, result, i));
  }
  bool inPlace = kind.canBeInPlace ||
                 (group.members == 1 && kind.shape != ShapeRule::rows);
  return verifyAliasing(program, start, inPlace);
}

} // namespace lockstep::runtime::verify

//===- VerifyTables.cpp - what all programs of an artifact share ----------===//

#include "runtime/artifact/Types.h"
#include "runtime/artifact/Verifier.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace lockstep::runtime {
namespace verify {

Status verifyType(const artifact::TensorType *type, bool allowDynamic, uint64_t *bytes) {
  if (elementSize(type->element()) == 0)
    return corrupted(fmt::format("unknown element type {}", unsigned(type->element())));
  if (count(type->shape()) > maxDimensions)
    return corrupted(fmt::format("expected at most {} dimensions, found {}", maxDimensions,
                                 count(type->shape())));
  // FlatBuffers' verifier looks at the place of a vector's length, not at that of its elements.
  if (count(type->shape()) > 0 && reinterpret_cast<uintptr_t>(type->shape()->Data()) % alignof(int64_t) != 0)
    return corrupted("a shape is not aligned");
  uint64_t size = elementSize(type->element());
  bool dynamic = false;
  for (uint32_t i = 0; i < count(type->shape()); ++i) {
    int64_t dimension = type->shape()->Get(i);
    if (dimension == -1 && allowDynamic) {
      dynamic = true;
      continue;
    }
    if (dimension < 0)
      return corrupted(fmt::format("dimension {} is {}", i, dimension));
    std::optional<uint64_t> product = checkedMultiply(size, static_cast<uint64_t>(dimension));
    if (!product || *product > maxMemory)
      return corrupted("the size of the shape overflows");
    size = *product;
  }
  if (!dynamic && bytes)
    *bytes = size;
  return Status::success();
}

Status verifyDisjoint(std::vector<NamedRange> ranges, std::string_view what) {
  std::erase_if(ranges, [](const NamedRange &range) { return range.size == 0; });
  std::sort(ranges.begin(), ranges.end(),
            [](const NamedRange &a, const NamedRange &b) { return a.offset < b.offset; });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].offset < ranges[i - 1].offset + ranges[i - 1].size)
      return corrupted(fmt::format("{} '{}' and '{}' overlap at byte {}", what, ranges[i - 1].name,
                                   ranges[i].name, ranges[i].offset));
  return Status::success();
}

uint32_t groupSize(const artifact::Artifact &artifact, uint32_t group) {
  uint32_t ranks = count(artifact.groups()->Get(group)->ranks());
  return ranks ? ranks : artifact.replicas();
}

namespace {

Status verifySegments(const artifact::Artifact &artifact, uint64_t fileSize) {
  std::vector<NamedRange> ranges;
  std::vector<std::string> names(count(artifact.segments()));
  for (uint32_t i = 0; i < names.size(); ++i) {
    const artifact::Segment *segment = artifact.segments()->Get(i);
    names[i] = fmt::format("{}", i);
    if (segment->offset() % segmentAlignment != 0)
      return corrupted(fmt::format("segment {}: expected an offset that is a multiple of {}, "
                                   "found {}",
                                   i, segmentAlignment, segment->offset()));
    if (segment->offset() == 0 || !rangeFits(segment->offset(), segment->size(), fileSize))
      return corrupted(fmt::format("segment {}: {} bytes at {} lie outside of the file of {} bytes",
                                   i, segment->size(), segment->offset(), fileSize));
    ranges.push_back({segment->offset(), segment->size(), names[i]});
  }
  return verifyDisjoint(std::move(ranges), "segments");
}

bool isSymbol(std::string_view text) {
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$';
  };
  if (text.empty() || text.size() > 1024 || !isLetter(text.front()))
    return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); });
}

Status verifyKernels(const artifact::Artifact &artifact) {
  std::set<std::string_view> targets;
  for (uint32_t i = 0; i < count(artifact.binaries()); ++i) {
    const artifact::Binary *binary = artifact.binaries()->Get(i);
    std::string_view target = binary->target()->string_view();
    if (target.empty() || !targets.insert(target).second)
      return corrupted(fmt::format("binary {}: target '{}' is empty or given twice", i, target));
    if (binary->segment() >= count(artifact.segments()))
      return corrupted(fmt::format("binary '{}': segment {} does not exist", target,
                                   binary->segment()));
  }
  std::set<std::string_view> symbols;
  for (uint32_t i = 0; i < count(artifact.kernels()); ++i) {
    const artifact::Kernel *kernel = artifact.kernels()->Get(i);
    std::string_view symbol = kernel->symbol()->string_view();
    if (!isSymbol(symbol))
      return corrupted(fmt::format("kernel {}: '{}' is not a symbol", i, symbol));
    if (!symbols.insert(symbol).second)
      return corrupted(fmt::format("kernel '{}' is given twice", symbol));
    if (kernel->grid() == 0 || kernel->grid() > maxGrid)
      return corrupted(fmt::format("kernel '{}': expected a grid of 1 to {} tiles, found {}",
                                   symbol, maxGrid, kernel->grid()));
    if (kernel->location() && kernel->location() >= count(artifact.locations()))
      return corrupted(fmt::format("kernel '{}': location {} does not exist", symbol,
                                   kernel->location()));
  }
  if (count(artifact.kernels()) && !count(artifact.binaries()))
    return corrupted(fmt::format("{} kernels, but no binary holds them",
                                 count(artifact.kernels())));
  return Status::success();
}

Status verifyGroups(const artifact::Artifact &artifact) {
  for (uint32_t i = 0; i < count(artifact.groups()); ++i) {
    const artifact::Group *group = artifact.groups()->Get(i);
    for (uint32_t j = 0; j < count(group->ranks()); ++j) {
      uint32_t rank = group->ranks()->Get(j);
      if (rank >= artifact.replicas())
        return corrupted(fmt::format("group '{}': rank {} does not exist among {} replicas",
                                     group->name()->string_view(), rank, artifact.replicas()));
      if (j && rank <= group->ranks()->Get(j - 1))
        return corrupted(fmt::format("group '{}': expected ascending ranks, found {} after {}",
                                     group->name()->string_view(), rank,
                                     group->ranks()->Get(j - 1)));
    }
  }
  return Status::success();
}

/// Shared by variables and scalars: a static type at an aligned offset inside of its memory.
Status verifyPlacement(const artifact::TensorType *type, uint64_t offset, uint64_t limit,
                       uint64_t *bytes) {
  LOCKSTEP_RETURN_IF_ERROR(verifyType(type, /*allowDynamic=*/false, bytes));
  if (offset % elementSize(type->element()) != 0)
    return corrupted(fmt::format("offset {} is not aligned to its element type {}", offset,
                                 elementName(type->element())));
  if (!rangeFits(offset, *bytes, limit))
    return corrupted(fmt::format("{} bytes at {} lie outside of its memory of {} bytes", *bytes,
                                 offset, limit));
  return Status::success();
}

Status verifyVariables(const artifact::Artifact &artifact) {
  std::set<std::string_view> names;
  std::vector<NamedRange> shared, replica;
  for (uint32_t i = 0; i < count(artifact.variables()); ++i) {
    const artifact::Variable *variable = artifact.variables()->Get(i);
    std::string_view name = variable->name()->string_view();
    std::string context = fmt::format("variable '{}'", name);
    if (name.empty() || !names.insert(name).second)
      return corrupted(context + ": the name is empty or given twice");
    bool isShared = variable->space() == artifact::Space::variable;
    if (!isShared && variable->space() != artifact::Space::replica_variable)
      return corrupted(fmt::format("{}: expected space variable or replica_variable, found {}",
                                   context, unsigned(variable->space())));
    if (variable->synchronization() > artifact::Synchronization::MAX ||
        variable->aggregation() > artifact::Aggregation::MAX)
      return corrupted(context + ": unknown synchronization or aggregation");
    uint64_t bytes = 0;
    uint64_t limit = isShared ? artifact.variable_size() : artifact.replica_variable_size();
    if (Status status = verifyPlacement(variable->type(), variable->offset(), limit, &bytes);
        !status.ok())
      return status.withContext(context);
    (isShared ? shared : replica).push_back({variable->offset(), bytes, name});
    if (variable->initial() == -1)
      continue;
    if (variable->initial() < 0 || uint32_t(variable->initial()) >= count(artifact.segments()))
      return corrupted(fmt::format("{}: segment {} does not exist", context, variable->initial()));
    uint64_t found = artifact.segments()->Get(uint32_t(variable->initial()))->size();
    if (found != bytes)
      return corrupted(fmt::format("{}: expected an initial value of {} bytes, found {}", context,
                                   bytes, found));
  }
  LOCKSTEP_RETURN_IF_ERROR(verifyDisjoint(std::move(shared), "variables"));
  return verifyDisjoint(std::move(replica), "variables");
}

Status verifyScalars(const artifact::Artifact &artifact) {
  std::set<std::string_view> names;
  std::vector<NamedRange> ranges;
  for (uint32_t i = 0; i < count(artifact.scalars()); ++i) {
    const artifact::Scalar *scalar = artifact.scalars()->Get(i);
    std::string_view name = scalar->name()->string_view();
    std::string context = fmt::format("scalar '{}'", name);
    if (name.empty() || !names.insert(name).second)
      return corrupted(context + ": the name is empty or given twice");
    uint64_t bytes = 0;
    if (Status status =
            verifyPlacement(scalar->type(), scalar->offset(), artifact.scalar_size(), &bytes);
        !status.ok())
      return status.withContext(context);
    uint32_t found = count(scalar->default_value());
    if (found != 0 && found != bytes)
      return corrupted(fmt::format("{}: expected a default of {} bytes, found {}", context, bytes,
                                   found));
    ranges.push_back({scalar->offset(), bytes, name});
  }
  return verifyDisjoint(std::move(ranges), "scalars");
}

Status verifySizes(const artifact::Artifact &artifact) {
  if (artifact.replicas() == 0 || artifact.replicas() > maxReplicas)
    return corrupted(fmt::format("expected 1 to {} replicas, found {}", maxReplicas,
                                 artifact.replicas()));
  for (uint64_t size :
       {artifact.variable_size(), artifact.replica_variable_size(), artifact.scalar_size()})
    if (size > maxMemory / artifact.replicas())
      return corrupted(fmt::format("a memory of {} bytes is too large", size));
  return Status::success();
}

} // namespace
} // namespace verify

Status verifyArtifact(const artifact::Artifact &artifact, uint64_t fileSize,
                      const VerifyOptions &options) {
  using namespace verify;
  LOCKSTEP_RETURN_IF_ERROR(verifySizes(artifact));
  LOCKSTEP_RETURN_IF_ERROR(verifySegments(artifact, fileSize));
  LOCKSTEP_RETURN_IF_ERROR(verifyKernels(artifact));
  LOCKSTEP_RETURN_IF_ERROR(verifyGroups(artifact));
  LOCKSTEP_RETURN_IF_ERROR(verifyVariables(artifact));
  LOCKSTEP_RETURN_IF_ERROR(verifyScalars(artifact));
  Context context{artifact, options, 0};
  if (artifact.constants() != -1) {
    if (artifact.constants() < 0 || uint32_t(artifact.constants()) >= count(artifact.segments()))
      return corrupted(fmt::format("segment {} of the constants does not exist",
                                   artifact.constants()));
    context.constantSize = artifact.segments()->Get(uint32_t(artifact.constants()))->size();
  }
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < count(artifact.programs()); ++i) {
    const artifact::Program *program = artifact.programs()->Get(i);
    std::string_view name = program->name()->string_view();
    if (name.empty() || !names.insert(name).second)
      return corrupted(fmt::format("program '{}': the name is empty or given twice", name));
    if (Status status = verifyProgram(context, *program); !status.ok())
      return status.withContext(fmt::format("program '{}'", name));
  }
  return Status::success();
}

} // namespace lockstep::runtime

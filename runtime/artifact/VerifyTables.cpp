//===- VerifyTables.cpp - tables shared by all programs -------------------===//

#include "runtime/artifact/Verifier.h"
#include "runtime/schema/Types.h"
#include "runtime/verification/Verification.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace lockstep::runtime {
namespace verify {

Status verifyType(const artifact::TensorType *type, bool allowDynamic,
                  uint64_t *bytes) {
  if (elementSize(type->element()) == 0)
    return corrupted(
        fmt::format("unknown element type {}", unsigned(type->element())));
  if (count(type->shape()) > maxDimensions)
    return corrupted(fmt::format("expected at most {} dimensions, found {}",
                                 maxDimensions, count(type->shape())));
  // FlatBuffers' verifier checks the alignment of a vector's length, but not of
  // its elements.
  if (count(type->shape()) > 0 &&
      reinterpret_cast<uintptr_t>(type->shape()->Data()) % alignof(int64_t) !=
          0)
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
    std::optional<uint64_t> product =
        checkedMultiply(size, static_cast<uint64_t>(dimension));
    if (!product || *product > maxMemory)
      return corrupted("the size of the shape overflows");
    size = *product;
  }
  if (!dynamic && bytes)
    *bytes = size;
  return Status::success();
}

Status verifyDisjoint(std::vector<NamedRange> ranges, std::string_view what) {
  std::erase_if(ranges,
                [](const NamedRange &range) { return range.size == 0; });
  std::sort(ranges.begin(), ranges.end(),
            [](const NamedRange &a, const NamedRange &b) {
              return a.offset < b.offset;
            });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].offset < ranges[i - 1].offset + ranges[i - 1].size)
      return corrupted(fmt::format("{} '{}' and '{}' overlap at byte {}", what,
                                   ranges[i - 1].name, ranges[i].name,
                                   ranges[i].offset));
  return Status::success();
}

Membership membershipOf(const artifact::Artifact &artifact, uint32_t group,
                        int32_t root, const RankRange &role) {
  // Called for every collective, so it does not traverse all members.
  const auto *listed = artifact.groups()->Get(group)->ranks();
  Membership result;
  result.members = count(listed) ? listed->size() : artifact.replicas();
  auto before = [&](uint32_t rank) {
    return count(listed) ? uint32_t(std::lower_bound(listed->begin(),
                                                     listed->end(), rank) -
                                    listed->begin())
                         : std::min(rank, result.members);
  };
  result.ofRole = before(role.end()) - before(role.first);
  result.root = root != -1      ? uint32_t(root)
                : count(listed) ? listed->Get(0)
                                : 0;
  result.rootIsMember = root == -1 || (root >= 0 && before(result.root + 1) >
                                                        before(result.root));
  result.rootInRole = role.contains(result.root);
  return result;
}

namespace {

Status verifySegments(const artifact::Artifact &artifact, uint64_t fileSize) {
  std::vector<NamedRange> ranges;
  std::vector<std::string> names(count(artifact.segments()));
  for (uint32_t i = 0; i < names.size(); ++i) {
    const artifact::Segment *segment = artifact.segments()->Get(i);
    names[i] = fmt::format("{}", i);
    if (segment->offset() % segmentAlignment != 0)
      return corrupted(fmt::format(
          "segment {}: expected an offset that is a multiple of {}, "
          "found {}",
          i, segmentAlignment, segment->offset()));
    if (segment->offset() == 0 ||
        !rangeFits(segment->offset(), segment->size(), fileSize))
      return corrupted(fmt::format(
          "segment {}: {} bytes at {} lie outside of the file of {} bytes", i,
          segment->size(), segment->offset(), fileSize));
    ranges.push_back({segment->offset(), segment->size(), names[i]});
  }
  return verifyDisjoint(std::move(ranges), "segments");
}

bool isSymbol(std::string_view text) {
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == '$';
  };
  if (text.empty() || text.size() > 1024 || !isLetter(text.front()))
    return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return isLetter(c) || (c >= '0' && c <= '9');
  });
}

/// Checks that the arguments declared for a kernel are consistent.
Status verifyArguments(const artifact::Arguments &arguments) {
  uint32_t total = count(arguments.bytes()), reads = arguments.reads();
  if (reads > total)
    return corrupted(fmt::format("reads {} of {} arguments", reads, total));
  if (count(arguments.dynamic()) && count(arguments.dynamic()) != total)
    return corrupted(fmt::format(
        "expected numbers of dynamic dimensions for {} arguments, found {}",
        total, count(arguments.dynamic())));
  if (count(arguments.in_place()) &&
      count(arguments.in_place()) != total - reads)
    return corrupted(fmt::format("expected the places of {} results, found {}",
                                 total - reads, count(arguments.in_place())));
  for (uint32_t i = 0; i < count(arguments.in_place()); ++i)
    if (int32_t place = arguments.in_place()->Get(i);
        place < -1 || (place >= 0 && uint32_t(place) >= reads))
      return corrupted(fmt::format(
          "expected a read or -1 as the place of result {}, found {}", i,
          place));
  uint64_t sizes = 0;
  for (uint32_t i = 0; i < count(arguments.dynamic()); ++i)
    sizes += arguments.dynamic()->Get(i);
  if (sizes > arguments.registers())
    return corrupted(fmt::format(
        "expected a register for each of {} dynamic dimensions, found {}",
        sizes, arguments.registers()));
  return Status::success();
}

Status verifyKernels(const artifact::Artifact &artifact) {
  std::set<std::string_view> targets;
  for (uint32_t i = 0; i < count(artifact.binaries()); ++i) {
    const artifact::Binary *binary = artifact.binaries()->Get(i);
    std::string_view target = binary->target()->string_view();
    if (target.empty() || !targets.insert(target).second)
      return corrupted(fmt::format(
          "binary {}: target '{}' is empty or given twice", i, target));
    // A cubin of -1 is none.
    for (int64_t segment :
         {int64_t(binary->segment()), int64_t(binary->cubin())})
      if (segment >= int64_t(count(artifact.segments())))
        return corrupted(fmt::format("binary '{}': segment {} does not exist",
                                     target, segment));
  }
  std::set<std::string_view> symbols;
  for (uint32_t i = 0; i < count(artifact.kernels()); ++i) {
    const artifact::Kernel *kernel = artifact.kernels()->Get(i);
    std::string_view symbol = kernel->symbol()->string_view();
    if (!isSymbol(symbol))
      return corrupted(
          fmt::format("kernel {}: '{}' is not a symbol", i, symbol));
    if (!symbols.insert(symbol).second)
      return corrupted(fmt::format("kernel '{}' is given twice", symbol));
    if (kernel->code() && !isSymbol(kernel->code()->string_view()))
      return corrupted(fmt::format("kernel '{}': its code '{}' is not a symbol",
                                   symbol, kernel->code()->string_view()));
    if (kernel->grid() == 0 || kernel->grid() > maxGrid)
      return corrupted(
          fmt::format("kernel '{}': expected a grid of 1 to {} tiles, found {}",
                      symbol, maxGrid, kernel->grid()));
    if (kernel->location() && kernel->location() >= count(artifact.locations()))
      return corrupted(fmt::format("kernel '{}': location {} does not exist",
                                   symbol, kernel->location()));
    if (Status status = kernel->arguments()
                            ? verifyArguments(*kernel->arguments())
                            : Status::success();
        !status.ok())
      return status.withContext(fmt::format("kernel '{}'", symbol));
  }
  if (count(artifact.kernels()) && !count(artifact.binaries()))
    return corrupted(fmt::format("{} kernels, but no binary holds them",
                                 count(artifact.kernels())));
  return Status::success();
}

Status verifyGroups(const artifact::Artifact &artifact) {
  uint32_t total = 0;
  for (const RoleInfo &role : rolesOf(artifact))
    total = std::max(total, role.ranks.end());
  for (uint32_t i = 0; i < count(artifact.groups()); ++i) {
    const artifact::Group *group = artifact.groups()->Get(i);
    for (uint32_t j = 0; j < count(group->ranks()); ++j) {
      uint32_t rank = group->ranks()->Get(j);
      if (rank >= total)
        return corrupted(
            fmt::format("group '{}': rank {} does not exist among {}",
                        group->name()->string_view(), rank, total));
      if (j && rank <= group->ranks()->Get(j - 1))
        return corrupted(fmt::format(
            "group '{}': expected ascending ranks, found {} after {}",
            group->name()->string_view(), rank, group->ranks()->Get(j - 1)));
    }
  }
  return Status::success();
}

/// Shared by variables and scalars: a static type at an aligned offset inside
/// of its memory.
Status verifyPlacement(const artifact::TensorType *type, uint64_t offset,
                       uint64_t limit, uint64_t *bytes) {
  LOCKSTEP_RETURN_IF_ERROR(verifyType(type, /*allowDynamic=*/false, bytes));
  if (offset % elementSize(type->element()) != 0)
    return corrupted(
        fmt::format("offset {} is not aligned to its element type {}", offset,
                    elementName(type->element())));
  if (!rangeFits(offset, *bytes, limit))
    return corrupted(
        fmt::format("{} bytes at {} lie outside of its memory of {} bytes",
                    *bytes, offset, limit));
  return Status::success();
}

/// The elements of a whole variable are divided among `ranks` replicas, which
/// store equally many of them; the last ones may store padding.
static Status verifyPart(const artifact::Variable &variable, uint64_t bytes,
                         uint32_t ranks) {
  std::optional<uint64_t> whole =
      staticBytes(variable.type()->element(), *variable.whole_shape());
  uint64_t size = elementSize(variable.type()->element());
  if (variable.space() != artifact::Space::replica_variable)
    return corrupted("expected a part of a variable for each replica to be in "
                     "space replica_variable");
  if (whole.value_or(0) == 0 || bytes / size != (*whole / size - 1) / ranks + 1)
    return corrupted(
        fmt::format("expected parts for {} replicas of a variable "
                    "of shape [{}], found {} bytes each",
                    ranks, fmt::join(*variable.whole_shape(), ", "), bytes));
  return Status::success();
}

Status verifyVariables(const artifact::Artifact &artifact) {
  std::set<std::string_view> names;
  std::vector<RoleInfo> roles = rolesOf(artifact);
  std::vector<std::vector<NamedRange>> shared(roles.size()),
      replica(roles.size());
  for (uint32_t i = 0; i < count(artifact.variables()); ++i) {
    const artifact::Variable *variable = artifact.variables()->Get(i);
    std::string_view name = variable->name()->string_view();
    std::string context = fmt::format("variable '{}'", name);
    if (name.empty() || !names.insert(name).second)
      return corrupted(context + ": the name is empty or given twice");
    bool isShared = variable->space() == artifact::Space::variable;
    if (!isShared && variable->space() != artifact::Space::replica_variable)
      return corrupted(fmt::format(
          "{}: expected space variable or replica_variable, found {}", context,
          unsigned(variable->space())));
    if (variable->synchronization() > artifact::Synchronization::MAX ||
        variable->aggregation() > artifact::Aggregation::MAX)
      return corrupted(context + ": unknown synchronization or aggregation");
    if (variable->role() >= roles.size())
      return corrupted(fmt::format("{}: role {} does not exist among {}",
                                   context, variable->role(), roles.size()));
    const RoleInfo &role = roles[variable->role()];
    uint64_t bytes = 0;
    uint64_t limit = isShared ? role.variableSize : role.replicaVariableSize;
    if (Status status = verifyPlacement(variable->type(), variable->offset(),
                                        limit, &bytes);
        !status.ok())
      return status.withContext(context);
    (isShared ? shared : replica)[variable->role()].push_back(
        {variable->offset(), bytes, name});
    if (variable->whole_shape())
      LOCKSTEP_RETURN_IF_ERROR(
          verifyPart(*variable, bytes, role.ranks.count).withContext(context));
    if (variable->initial() == -1)
      continue;
    if (variable->initial() < 0 ||
        uint32_t(variable->initial()) >= count(artifact.segments()))
      return corrupted(fmt::format("{}: segment {} does not exist", context,
                                   variable->initial()));
    uint64_t found =
        artifact.segments()->Get(uint32_t(variable->initial()))->size();
    if (found != bytes)
      return corrupted(
          fmt::format("{}: expected an initial value of {} bytes, found {}",
                      context, bytes, found));
  }
  for (auto *ranges : {&shared, &replica})
    for (std::vector<NamedRange> &ofRole : *ranges)
      LOCKSTEP_RETURN_IF_ERROR(verifyDisjoint(std::move(ofRole), "variables"));
  return verifyShards(artifact);
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
    if (Status status = verifyPlacement(scalar->type(), scalar->offset(),
                                        artifact.scalar_size(), &bytes);
        !status.ok())
      return status.withContext(context);
    uint32_t found = count(scalar->default_value());
    if (found != 0 && found != bytes)
      return corrupted(
          fmt::format("{}: expected a default of {} bytes, found {}", context,
                      bytes, found));
    ranges.push_back({scalar->offset(), bytes, name});
  }
  return verifyDisjoint(std::move(ranges), "scalars");
}

Status verifySizes(const artifact::Artifact &artifact) {
  if (artifact.replicas() == 0 || artifact.replicas() > maxReplicas)
    return corrupted(fmt::format("expected 1 to {} replicas, found {}",
                                 maxReplicas, artifact.replicas()));
  for (uint64_t size :
       {artifact.variable_size(), artifact.replica_variable_size(),
        artifact.scalar_size()})
    if (size > maxMemory / artifact.replicas())
      return corrupted(fmt::format("a memory of {} bytes is too large", size));
  return Status::success();
}

/// Verifies all programs, grouped by name: programs of one name run together.
Status verifyPrograms(Context &context) {
  std::vector<RoleInfo> roles = rolesOf(context.artifact);
  std::map<std::string_view, std::vector<const artifact::Program *>> programsOf;
  for (uint32_t i = 0; i < count(context.artifact.programs()); ++i) {
    const artifact::Program *program = context.artifact.programs()->Get(i);
    std::string_view name = program->name()->string_view(),
                     role = program->role()->string_view();
    if (name.empty())
      return corrupted("program '': the name is empty");
    if (std::none_of(roles.begin(), roles.end(),
                     [&](const RoleInfo &known) { return known.name == role; }))
      return corrupted(
          fmt::format("program '{}': there is no role '{}'", name, role));
    for (const artifact::Program *other : programsOf[name])
      if (other->role()->string_view() == role)
        return corrupted(fmt::format(
            "program '{}': role '{}' has two of this name", name, role));
    programsOf[name].push_back(program);
  }
  for (const auto &[name, programs] : programsOf) {
    context.commandsOfName = 0;
    for (const artifact::Program *program : programs)
      context.commandsOfName += count(program->commands());
    std::vector<std::vector<uint32_t>> others(programs.size());
    for (size_t i = 0; i < programs.size(); ++i) {
      const artifact::Program *program = programs[i];
      context.role =
          *std::find_if(roles.begin(), roles.end(), [&](const RoleInfo &role) {
            return role.name == program->role()->string_view();
          });
      std::string where = fmt::format("program '{}'", name);
      if (roles.size() > 1)
        where += fmt::format(" of role '{}'", context.role.name);
      if (Status status = verifyProgram(context, *program, others[i]);
          !status.ok())
        return status.withContext(where);
    }
    Status status = verifySharedChannels(context.artifact, programs, others);
    if (status.ok() && !context.options.allowUnproven)
      status = verification::checkProven(context.artifact, name);
    if (!status.ok())
      return status.withContext(fmt::format("program '{}'", name));
  }
  return Status::success();
}

/// They belong to existing programs, in strictly ascending order.
Status verifyConstantOutputs(const artifact::Artifact &artifact) {
  std::pair<std::string_view, std::string_view> last;
  for (uint32_t i = 0; i < count(artifact.constant_outputs()); ++i) {
    const artifact::ConstantOutput &output =
        *artifact.constant_outputs()->Get(i);
    std::string_view program = output.program()->string_view(),
                     name = output.name()->string_view(),
                     value = output.value()->string_view();
    bool exists = false;
    for (uint32_t j = 0; j < count(artifact.programs()) && !exists; ++j)
      exists = artifact.programs()->Get(j)->name()->string_view() == program;
    if (!exists)
      return corrupted(fmt::format(
          "constant output '{}': there is no program '{}'", name, program));
    if (i && std::pair(program, name) <= last)
      return corrupted(fmt::format(
          "constant output '{}' of program '{}' is not in ascending order",
          name, program));
    if (!nlohmann::json::accept(value))
      return corrupted(fmt::format(
          "constant output '{}' of program '{}': expected JSON, found '{}'",
          name, program, value));
    last = {program, name};
  }
  return Status::success();
}

} // namespace
} // namespace verify

Status verifyArtifact(const artifact::Artifact &artifact, uint64_t fileSize,
                      const VerifyOptions &options) {
  using namespace verify;
  LOCKSTEP_RETURN_IF_ERROR(verifySizes(artifact));
  LOCKSTEP_RETURN_IF_ERROR(verifyRoles(artifact));
  LOCKSTEP_RETURN_IF_ERROR(verifySegments(artifact, fileSize));
  LOCKSTEP_RETURN_IF_ERROR(verifyKernels(artifact));
  LOCKSTEP_RETURN_IF_ERROR(verifyGroups(artifact));
  LOCKSTEP_RETURN_IF_ERROR(verifyVariables(artifact));
  LOCKSTEP_RETURN_IF_ERROR(verifyScalars(artifact));
  LOCKSTEP_RETURN_IF_ERROR(verifyConstantOutputs(artifact));
  verify::Context context{artifact, options, 0};
  if (artifact.constants() != -1) {
    if (artifact.constants() < 0 ||
        uint32_t(artifact.constants()) >= count(artifact.segments()))
      return corrupted(fmt::format("segment {} of the constants does not exist",
                                   artifact.constants()));
    context.constantSize =
        artifact.segments()->Get(uint32_t(artifact.constants()))->size();
  }
  return verifyPrograms(context);
}

} // namespace lockstep::runtime

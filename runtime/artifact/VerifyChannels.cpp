//===- VerifyChannels.cpp - channels shared by roles ----------------------===//
//
// A channel is one collective, and the program of each role declares the part
// of its own members. The parts are compared: all declare the same collective,
// no member is missing, and operands match results. A single role passes as
// well.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/Verifier.h"
#include "runtime/collectives/CollectiveKinds.h"
#include "runtime/schema/Types.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace lockstep::runtime::verify {
namespace {

using artifact::Buffer;
using artifact::CommandBody;

/// The part of one role.
struct Part {
  const RoleInfo &role;
  const artifact::Program *program;
  const artifact::Command *command;

  const artifact::Start *start() const { return command->body_as_Start(); }
  uint32_t group() const {
    return start() ? start()->group() : command->body_as_Barrier()->group();
  }
  std::vector<const Buffer *>
  buffers(const flatbuffers::Vector<uint32_t> *indices) const {
    std::vector<const Buffer *> result;
    for (uint32_t i = 0; i < count(indices); ++i)
      result.push_back(program->buffers()->Get(indices->Get(i)));
    return result;
  }
  std::vector<const Buffer *> operands() const {
    return buffers(start()->operands());
  }
  std::vector<const Buffer *> results() const {
    return buffers(start()->results());
  }
};

std::string typeOf(const Buffer *buffer) {
  std::vector<int64_t> shape;
  if (buffer->type()->shape())
    shape.assign(buffer->type()->shape()->begin(),
                 buffer->type()->shape()->end());
  return typeName(buffer->type()->element(), shape);
}

/// Whether two shapes are the same in all dimensions but `axis` (-1: in all).
/// With `dynamicIsAny`, a dynamic dimension equals any, for kinds that exchange
/// sizes at run time.
bool sameDimensions(const Buffer *a, const Buffer *b, int32_t axis,
                    bool dynamicIsAny) {
  const auto *left = a->type()->shape(), *right = b->type()->shape();
  if (count(left) != count(right))
    return false;
  for (uint32_t i = 0; i < count(left); ++i) {
    bool any = dynamicIsAny && (left->Get(i) < 0 || right->Get(i) < 0);
    if (int32_t(i) != axis && !any && left->Get(i) != right->Get(i))
      return false;
  }
  return true;
}

std::span<const int32_t> sourcesOf(const artifact::Start &start) {
  if (!start.sources())
    return {};
  return {start.sources()->data(), start.sources()->size()};
}

/// Compares the parts of one channel.
class ChannelVerifier {
public:
  ChannelVerifier(const artifact::Artifact &artifact,
                  const std::vector<Part> &parts)
      : artifact(artifact), parts(parts), first(parts.front()) {}

  Status verify() {
    // Once sections have no group, so the kinds of commands are compared first.
    for (const Part &part : parts)
      LOCKSTEP_RETURN_IF_ERROR(sameCommand(part));
    for (const Part &part : parts)
      LOCKSTEP_RETURN_IF_ERROR(sameCollective(part));
    LOCKSTEP_RETURN_IF_ERROR(allMembersTakePart());
    if (parts.size() == 1 || !first.start())
      return Status::success();
    const CollectiveProperties &kind =
        CollectiveProperties::of(first.start()->kind());
    return kind.hasRoot() ? rooted(kind) : rootless();
  }

private:
  Status sameCommand(const Part &part) {
    if (part.command->body_type() != first.command->body_type())
      return corrupted(
          fmt::format("it is a {} in role '{}' and a {} in role '{}'",
                      artifact::EnumNameCommandBody(first.command->body_type()),
                      first.role.name,
                      artifact::EnumNameCommandBody(part.command->body_type()),
                      part.role.name));
    return Status::success();
  }

  Status sameCollective(const Part &part) {
    bool same = part.group() == first.group();
    if (const artifact::Start *a = first.start(), *b = part.start(); a && same)
      same = a->kind() == b->kind() && a->reduction() == b->reduction() &&
             a->root() == b->root() && a->axis() == b->axis() &&
             std::ranges::equal(sourcesOf(*a), sourcesOf(*b));
    if (!same)
      return corrupted(fmt::format(
          "roles '{}' and '{}' differ in kind, reduction, group, root, axis or "
          "sources",
          first.role.name, part.role.name));
    return Status::success();
  }

  Status allMembersTakePart() {
    uint32_t found = 0, members = 0;
    for (const Part &part : parts) {
      Membership group =
          membershipOf(artifact, first.group(), -1, part.role.ranks);
      found += group.ofRole;
      members = group.members;
    }
    if (found == members)
      return Status::success();
    for (const RoleInfo &role : rolesOf(artifact))
      if (membershipOf(artifact, first.group(), -1, role.ranks).ofRole > 0 &&
          std::none_of(parts.begin(), parts.end(), [&](const Part &part) {
            return part.role.name == role.name;
          }))
        return corrupted(fmt::format(
            "role '{}' has ranks in its group and no part in it", role.name));
    return corrupted(fmt::format(
        "{} of the {} members of its group have a part in it", found, members));
  }

  Status differ(const Part &a, const Buffer *operand, const Part &b,
                const Buffer *result) {
    return corrupted(fmt::format(
        "role '{}' gives {} ({} bytes), role '{}' expects {} ({} bytes)",
        a.role.name, typeOf(operand), operand->size(), b.role.name,
        typeOf(result), result->size()));
  }

  /// The members of all roles have the same operands and results.
  Status rootless() {
    for (const Part &part : parts)
      for (bool ofOperands : {true, false}) {
        std::vector<const Buffer *> a = ofOperands ? first.operands()
                                                   : first.results(),
                                    b = ofOperands ? part.operands()
                                                   : part.results();
        if (a.size() != b.size())
          return corrupted(
              fmt::format("{} operands in role '{}', {} in role '{}'", a.size(),
                          first.role.name, b.size(), part.role.name));
        for (size_t i = 0; i < a.size(); ++i)
          if (a[i]->type()->element() != b[i]->type()->element() ||
              a[i]->size() != b[i]->size() ||
              !sameDimensions(a[i], b[i], -1, /*dynamicIsAny=*/false))
            return differ(first, a[i], part, b[i]);
      }
    return Status::success();
  }

  /// Compares the operands of each role that sends with the results of each
  /// role that receives.
  Status rooted(const CollectiveProperties &kind) {
    bool rootSends = kind.operandHolders == Holders::root;
    uint32_t root =
        membershipOf(artifact, first.group(), first.start()->root(), {}).root;
    for (const Part &sender : parts)
      for (const Part &receiver : parts) {
        const Part &atRoot = rootSends ? sender : receiver;
        if (!atRoot.role.ranks.contains(root))
          continue;
        std::vector<const Buffer *> operands = sender.operands(),
                                    results = receiver.results();
        // The counts are not sent.
        if (kind.shape == ShapeRule::rows)
          operands.resize(1);
        bool onlyRoot =
            membershipOf(artifact, first.group(), -1, atRoot.role.ranks)
                .ofRole == 1;
        // The only member of its role need not have results of its broadcast,
        // or operands of its gather.
        const Part &other = rootSends ? receiver : sender;
        if (&other == &atRoot && onlyRoot &&
            (rootSends ? results.empty() : operands.empty()))
          continue;
        if (operands.size() != results.size())
          return corrupted(
              fmt::format("role '{}' gives {} values, role '{}' expects {}",
                          sender.role.name, operands.size(), receiver.role.name,
                          results.size()));
        for (size_t i = 0; i < operands.size(); ++i)
          if (!fits(kind, operands[i], results[i]))
            return differ(sender, operands[i], receiver, results[i]);
      }
    return kind.concatenates() ? gatheredRows(root) : Status::success();
  }

  bool fits(const CollectiveProperties &kind, const Buffer *operand,
            const Buffer *result) {
    artifact::ElementType a = operand->type()->element(),
                          b = result->type()->element();
    if (a != b && !(kind.isReduction && isAccumulator(a, b)))
      return false;
    if (kind.concatenates())
      return sameDimensions(operand, result, first.start()->axis(),
                            /*dynamicIsAny=*/true);
    if (kind.shape == ShapeRule::rows)
      return sameDimensions(operand, result, 0, /*dynamicIsAny=*/false);
    return capacity(operand) == capacity(result) &&
           sameDimensions(operand, result, -1, /*dynamicIsAny=*/false);
  }

  /// Static numbers of rows must add up to that of the root's result.
  Status gatheredRows(uint32_t root) {
    auto axis = uint32_t(first.start()->axis());
    for (const Part &receiver : parts) {
      if (!receiver.role.ranks.contains(root))
        continue;
      std::vector<const Buffer *> results = receiver.results();
      for (size_t i = 0; i < results.size(); ++i) {
        int64_t expected = results[i]->type()->shape()->Get(axis), found = 0;
        bool dynamic = expected < 0;
        for (const Part &sender : parts) {
          std::vector<const Buffer *> operands = sender.operands();
          if (operands.empty())
            continue;
          int64_t rows = operands[i]->type()->shape()->Get(axis);
          dynamic |= rows < 0;
          found += rows * int64_t(membershipOf(artifact, first.group(), -1,
                                               sender.role.ranks)
                                      .ofRole);
        }
        if (!dynamic && found != expected)
          return corrupted(fmt::format(
              "role '{}' expects {} rows in result {}, its members give {}",
              receiver.role.name, expected, i, found));
      }
    }
    return Status::success();
  }

  const artifact::Artifact &artifact;
  const std::vector<Part> &parts;
  const Part &first;
};

} // namespace

Status
verifySharedChannels(const artifact::Artifact &artifact,
                     const std::vector<const artifact::Program *> &programs,
                     const std::vector<std::vector<uint32_t>> &others) {
  uint32_t channels = 0;
  for (const artifact::Program *program : programs)
    channels = std::max(channels, program->channels());
  std::vector<std::vector<Part>> parts(channels);
  std::vector<RoleInfo> roles = rolesOf(artifact);
  for (size_t p = 0; p < programs.size(); ++p) {
    const artifact::Program *program = programs[p];
    const RoleInfo &role =
        *std::find_if(roles.begin(), roles.end(), [&](const RoleInfo &r) {
          return r.name == program->role()->string_view();
        });
    for (uint32_t index : others[p]) {
      const artifact::Command *command = program->commands()->Get(index);
      switch (command->body_type()) {
      case CommandBody::Start:
        parts[command->body_as_Start()->channel()].push_back(
            {role, program, command});
        break;
      case CommandBody::Barrier:
        parts[command->body_as_Barrier()->channel()].push_back(
            {role, program, command});
        break;
      case CommandBody::Once:
        if (programs.size() > 1)
          parts[command->body_as_Once()->channel()].push_back(
              {role, program, command});
        break;
      default:
        break;
      }
    }
  }
  for (uint32_t channel = 0; channel < channels; ++channel) {
    std::vector<Part> &ofChannel = parts[channel];
    // Once sections are local to a process.
    bool onlySections =
        std::all_of(ofChannel.begin(), ofChannel.end(), [](const Part &part) {
          return part.command->body_type() == CommandBody::Once;
        });
    if (onlySections)
      continue;
    if (Status status = ChannelVerifier(artifact, ofChannel).verify();
        !status.ok())
      return status.withContext(fmt::format("channel {}", channel));
  }
  return Status::success();
}

} // namespace lockstep::runtime::verify

//===- BuildModel.cpp - builds the model from an artifact -----------------===//

#include "runtime/collectives/CollectiveKinds.h"
#include "runtime/schema/RoleInfo.h"
#include "runtime/schema/Tables.h"
#include "runtime/verification/Model.h"
#include "runtime/verification/Operands.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::runtime::verification {

using artifact::CommandBody;
using artifact::count;

namespace {

Status malformed(const Program &program, uint32_t command,
                 const std::string &message) {
  return {StatusCode::corrupted, fmt::format("command {} of role '{}': {}",
                                             command, program.role, message)};
}

class Builder {
public:
  Builder(const artifact::Artifact &artifact, std::string_view name) {
    model.tables = &artifact;
    model.name = name;
  }

  Expected<Model> build() {
    addGroups();
    LOCKSTEP_RETURN_IF_ERROR(addRoles());
    for (Program &program : model.programs)
      LOCKSTEP_RETURN_IF_ERROR(addCommands(program));
    return std::move(model);
  }

private:
  void addGroups() {
    uint32_t allReplicas = none;
    for (uint32_t i = 0; i < count(model.tables->groups()); ++i) {
      const auto *ranks = model.tables->groups()->Get(i)->ranks();
      groups.push_back(uint32_t(model.groups.size()));
      if (count(ranks)) {
        model.groups.push_back({{ranks->begin(), ranks->end()}});
        continue;
      }
      // Groups of all replicas share one entry, so that memory is bounded by
      // the size of the file.
      if (allReplicas != none) {
        groups.back() = allReplicas;
        continue;
      }
      allReplicas = groups.back();
      model.groups.emplace_back();
      for (uint32_t rank = 0; rank < model.tables->replicas(); ++rank)
        model.groups.back().ranks.push_back(rank);
    }
  }

  /// Roles and their ranks, then the programs of the roles that have one.
  Status addRoles() {
    const auto *roles = model.tables->roles();
    uint32_t ranks = model.tables->replicas();
    for (uint32_t i = 0; i < count(roles); ++i) {
      if (roles->Get(i)->ranks() > maxRanks ||
          roles->Get(i)->first_rank() > maxRanks)
        return {StatusCode::corrupted, "a role has too many ranks"};
      ranks =
          std::max(ranks, roles->Get(i)->first_rank() + roles->Get(i)->ranks());
    }
    if (ranks > maxRanks)
      return {StatusCode::corrupted,
              fmt::format("{} ranks are too many", ranks)};
    model.serversAreShared = canShareServers(*model.tables);
    model.programOf.assign(ranks, none);
    model.roleOf.assign(ranks, "worker");
    for (uint32_t i = 0; i < count(roles); ++i)
      for (uint32_t j = 0; j < roles->Get(i)->ranks(); ++j)
        model.roleOf[roles->Get(i)->first_rank() + j] =
            roles->Get(i)->name()->str();

    for (uint32_t i = 0; i < count(model.tables->programs()); ++i)
      if (const artifact::Program *tables = model.tables->programs()->Get(i);
          tables->name()->string_view() == model.name)
        LOCKSTEP_RETURN_IF_ERROR(addProgram(*tables));
    for (const Group &group : model.groups)
      if (!std::is_sorted(group.ranks.begin(), group.ranks.end()) ||
          (!group.ranks.empty() && group.ranks.back() >= ranks))
        return corrupted(fmt::format(
            "ranks {} of a group do not ascend, or do not exist among {}",
            fmt::join(group.ranks, ", "), ranks));
    return Status::success();
  }

  Status addProgram(const artifact::Program &tables) {
    Program program;
    program.tables = &tables;
    program.role = tables.role()->str();
    program.index = uint32_t(model.programs.size());
    program.ranks = model.tables->replicas();
    if (const auto *roles = model.tables->roles(); count(roles)) {
      program.ranks = 0;
      for (const artifact::Role *role : *roles)
        if (role->name()->string_view() == program.role) {
          program.firstRank = role->first_rank();
          program.ranks = role->ranks();
        }
    }
    Group members;
    for (uint32_t rank = program.firstRank;
         rank < program.firstRank + program.ranks; ++rank) {
      if (model.programOf[rank] != none)
        return {StatusCode::corrupted,
                fmt::format("rank {} has two programs '{}'", rank, model.name)};
      model.programOf[rank] = program.index;
      members.ranks.push_back(rank);
    }
    program.roleGroup = uint32_t(model.groups.size());
    model.groups.push_back(std::move(members));
    // More channels than commands are rejected, so that memory is bounded by
    // the size of the file.
    uint64_t commands = 0;
    for (const artifact::Program *other : *model.tables->programs())
      commands += count(other->commands());
    if (tables.channels() > commands)
      return {StatusCode::corrupted,
              fmt::format("{} channels, but only {} commands",
                          tables.channels(), commands)};
    model.programs.push_back(std::move(program));
    return Status::success();
  }

  Status addCommands(Program &program) {
    uint32_t size = count(program.tables->commands());
    program.ops.reserve(size);
    for (uint32_t i = 0; i < size; ++i) {
      Op op{OpKind::compute, i};
      if (const auto *launch = program.table(op).body_as_Launch();
          launch && isGood(program, *launch)) {
        program.ops.push_back(op);
        continue;
      }
      LOCKSTEP_RETURN_IF_ERROR(decode(program, op));
      if (op.target != none && op.target >= size)
        return malformed(program, i,
                         fmt::format("target {} does not exist", op.target));
      LOCKSTEP_RETURN_IF_ERROR(checkOperands(program, op));
      program.ops.push_back(op);
    }
    if (size == 0 || (program.ops.back().kind != OpKind::ret &&
                      program.ops.back().kind != OpKind::jump))
      return malformed(program, size, "expected a return or a jump at the end");
    return Status::success();
  }

  Status decode(Program &program, Op &op) {
    const artifact::Command &table = program.table(op);
    switch (table.body_type()) {
    case CommandBody::Launch:
    case CommandBody::Copy:
      break;
    case CommandBody::Start: {
      const artifact::Start *start = table.body_as_Start();
      op.kind = OpKind::start;
      Channel channel;
      channel.collective = start->kind();
      channel.reduction = start->reduction();
      channel.axis = start->axis();
      if (start->sources())
        channel.sources.assign(start->sources()->begin(),
                               start->sources()->end());
      channel.group = start->group();
      return declareChannel(program, op, start->channel(), channel,
                            start->root());
    }
    case CommandBody::Wait:
      op.kind = OpKind::wait;
      return setChannel(program, op, table.body_as_Wait()->channel());
    case CommandBody::Barrier: {
      op.kind = OpKind::barrier;
      Channel channel;
      channel.kind = Channel::Kind::barrier;
      channel.group = table.body_as_Barrier()->group();
      return declareChannel(program, op, table.body_as_Barrier()->channel(),
                            channel, -1);
    }
    case CommandBody::Once:
      return once(program, op, *table.body_as_Once());
    case CommandBody::EndOnce:
      op.kind = OpKind::endOnce;
      break;
    case CommandBody::Jump:
      op.kind = OpKind::jump;
      op.target = table.body_as_Jump()->target();
      break;
    case CommandBody::BranchUnless:
      op.kind = OpKind::branch;
      op.target = table.body_as_BranchUnless()->target();
      break;
    case CommandBody::BranchGreaterEqual:
      op.kind = OpKind::branch;
      op.target = table.body_as_BranchGreaterEqual()->target();
      break;
    case CommandBody::SetRegister:
      op.kind = OpKind::setRegister;
      break;
    case CommandBody::AddRegister:
      op.kind = OpKind::addRegister;
      break;
    case CommandBody::LoadRegister:
      op.kind = OpKind::loadRegister;
      break;
    case CommandBody::Return:
      op.kind = OpKind::ret;
      break;
    case CommandBody::Next:
      op.kind = OpKind::next;
      break;
    case CommandBody::NONE:
      return malformed(program, op.command, "unknown command");
    }
    return Status::success();
  }

  Status checkOperands(const Program &program, const Op &op) {
    if (const auto *launch = program.table(op).body_as_Launch())
      return checkLaunch(program, op, launch);
    operands.collect(program, op);
    for (const auto *list : {&operands.reads, &operands.writes})
      for (uint32_t buffer : *list)
        if (buffer >= count(program.tables->buffers()))
          return malformed(program, op.command,
                           fmt::format("buffer {} does not exist", buffer));
    for (const auto *list :
         {&operands.readRegisters, &operands.writtenRegisters})
      for (uint32_t index : *list)
        if (index >= program.tables->registers())
          return malformed(program, op.command,
                           fmt::format("register {} does not exist", index));
    return Status::success();
  }

  /// Whether `checkLaunch` accepts a launch; a fast path, since most commands
  /// are launches.
  bool isGood(const Program &program, const artifact::Launch &launch) const {
    uint32_t buffers = count(launch.buffers()),
             registers = count(launch.registers());
    for (uint32_t i = 0; i < buffers; ++i)
      if (launch.buffers()->Get(i) >= count(program.tables->buffers()))
        return false;
    for (uint32_t i = 0; i < registers; ++i)
      if (launch.registers()->Get(i) >= program.tables->registers())
        return false;
    return launch.reads() <= buffers;
  }

  /// The error of a launch that `isGood` does not accept.
  Status checkLaunch(const Program &program, const Op &op,
                     const artifact::Launch *launch) {
    for (uint32_t i = 0; i < count(launch->buffers()); ++i)
      if (launch->buffers()->Get(i) >= count(program.tables->buffers()))
        return malformed(
            program, op.command,
            fmt::format("buffer {} does not exist", launch->buffers()->Get(i)));
    for (uint32_t i = 0; i < count(launch->registers()); ++i)
      if (launch->registers()->Get(i) >= program.tables->registers())
        return malformed(program, op.command,
                         fmt::format("register {} does not exist",
                                     launch->registers()->Get(i)));
    if (launch->reads() > count(launch->buffers()))
      return malformed(program, op.command,
                       fmt::format("reads {} of {} buffers", launch->reads(),
                                   count(launch->buffers())));
    return Status::success();
  }

  /// Checks the number of a channel and sets it as the op's index into
  /// `Model::channels`, whose first channels are numbered as in all roles.
  Status setChannel(Program &program, Op &op, uint32_t number) {
    if (number >= program.tables->channels())
      return malformed(program, op.command,
                       fmt::format("channel {} does not exist", number));
    op.channel = number;
    uint32_t most = 0;
    for (const Program &other : model.programs)
      most = std::max(most, other.tables->channels());
    if (model.channels.empty())
      model.channels.resize(most);
    if (program.starts.empty())
      program.starts.assign(most, none);
    return Status::success();
  }

  /// Declares the channel of a start or barrier.
  Status declareChannel(Program &program, Op &op, uint32_t number,
                        Channel channel, int32_t root) {
    LOCKSTEP_RETURN_IF_ERROR(setChannel(program, op, number));
    if (program.starts[number] != none)
      return malformed(program, op.command,
                       fmt::format("channel {} is used twice", number));
    if (channel.group >= count(model.tables->groups()))
      return malformed(program, op.command,
                       fmt::format("group {} does not exist", channel.group));
    program.starts[number] = op.command;
    channel.group = groups[channel.group];
    const std::vector<uint32_t> &ranks = model.groups[channel.group].ranks;
    channel.number = number;
    channel.root = root >= 0       ? uint32_t(root)
                   : ranks.empty() ? none
                                   : ranks.front();
    channel.program = program.index;
    channel.command = op.command;
    Channel &known = model.channels[number];
    if (known.program == none)
      known = channel;
    else if (!model.mismatch)
      compare(known, channel);
    return Status::success();
  }

  Status once(Program &program, Op &op, const artifact::Once &table) {
    LOCKSTEP_RETURN_IF_ERROR(setChannel(program, op, table.channel()));
    if (program.starts[op.channel] != none)
      return malformed(program, op.command,
                       fmt::format("channel {} is used twice", op.channel));
    if (table.end() <= op.command ||
        table.end() >= count(program.tables->commands()))
      return malformed(program, op.command,
                       fmt::format("end {} does not exist", table.end()));
    program.starts[op.channel] = op.command;
    op.kind = OpKind::once;
    // Once sections are separate in each process: each is a channel of its own,
    // after those that the roles share.
    Channel channel;
    channel.kind = Channel::Kind::once;
    channel.number = table.channel();
    channel.group = program.roleGroup;
    channel.program = program.index;
    channel.command = op.command;
    op.channel = uint32_t(model.channels.size());
    model.channels.push_back(channel);
    return Status::success();
  }

  void compare(const Channel &known, const Channel &other) {
    std::string what;
    auto differ = [&](const char *name, const auto &left, const auto &right) {
      if (what.empty() && left != right)
        what = fmt::format("{} {} and {} {}", name, left, name, right);
    };
    auto kind = [](const Channel &channel) {
      return channel.kind == Channel::Kind::barrier
                 ? "barrier"
                 : CollectiveProperties::of(channel.collective).name;
    };
    differ("a", std::string(kind(known)), std::string(kind(other)));
    differ("reduction",
           std::string(artifact::EnumNameReduction(known.reduction)),
           std::string(artifact::EnumNameReduction(other.reduction)));
    differ("group", groupName(known.group), groupName(other.group));
    differ("root", known.root, other.root);
    differ("axis", known.axis, other.axis);
    differ("sources", fmt::format("[{}]", fmt::join(known.sources, ", ")),
           fmt::format("[{}]", fmt::join(other.sources, ", ")));
    if (what.empty())
      return;
    const Program &left = model.programs[known.program],
                  &right = model.programs[other.program];
    model.mismatch =
        Problem{fmt::format("channel {} is {} in roles '{}' ({}) and '{}' ({})",
                            known.number, what, left.role,
                            model.describe(left, known.command), right.role,
                            model.describe(right, other.command)),
                {{left.role, known.command}, {right.role, other.command}}};
  }

  std::string groupName(uint32_t group) const {
    return fmt::format("of ranks {{{}}}",
                       fmt::join(model.groups[group].ranks, ", "));
  }

  static constexpr uint32_t maxRanks = 1 << 20;

  Model model;
  Operands operands;
  /// Index of a group in the artifact -> its index in the model.
  std::vector<uint32_t> groups;
};

} // namespace

Expected<Model> buildModel(const artifact::Artifact &artifact,
                           std::string_view name) {
  return Builder(artifact, name).build();
}

} // namespace lockstep::runtime::verification

//===- InspectProgram.cpp - collectives, loops and commands ---------------===//

#include "tools/lockstep-inspect/Inspection.h"

#include "runtime/collectives/CollectiveKinds.h"
#include "runtime/schema/RoleInfo.h"
#include "runtime/schema/Types.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace lockstep::inspect {

namespace {

std::vector<uint32_t> list(const flatbuffers::Vector<uint32_t> *indices) {
  return indices ? std::vector<uint32_t>(indices->begin(), indices->end())
                 : std::vector<uint32_t>();
}

class ProgramInspector {
public:
  ProgramInspector(const runtime::Artifact &artifact,
                   const artifact::Program &program)
      : artifact(artifact), program(program) {}

  ProgramInfo run() {
    result.name = program.name()->str();
    result.role = program.role()->str();
    result.replicaSize = program.replica_size();
    result.sharedSize = program.shared_size();
    result.inputSize = program.input_size();
    result.registers = program.registers();
    result.channels = program.channels();
    findNames();
    addBuffers();
    uint32_t endOfOnce = 0;
    for (uint32_t i = 0; program.commands() && i < program.commands()->size();
         ++i) {
      const artifact::Command &command = *program.commands()->Get(i);
      CommandInfo info = describe(command);
      info.line = artifact.location(command.location());
      info.once = i < endOfOnce;
      if (info.op == "once")
        endOfOnce = *info.target;
      result.commands.push_back(std::move(info));
    }
    findLoops();
    findCollectives();
    addTotals();
    addExchanges();
    findLifetimes(result);
    return std::move(result);
  }

private:
  void addBuffers() {
    for (uint32_t i = 0; program.buffers() && i < program.buffers()->size();
         ++i) {
      const artifact::Buffer &buffer = *program.buffers()->Get(i);
      result.buffers.push_back({buffer.space(), buffer.offset(), buffer.size(),
                                typeText(buffer.type()), nameOf(buffer),
                                std::nullopt});
    }
    for (uint32_t i = 0; program.inputs() && i < program.inputs()->size();
         ++i) {
      const artifact::Binding &input = *program.inputs()->Get(i);
      result.inputs.push_back(
          {input.name()->str(), typeText(input.type()), input.offset()});
    }
    for (uint32_t i = 0; program.outputs() && i < program.outputs()->size();
         ++i) {
      const artifact::Output &output = *program.outputs()->Get(i);
      result.outputs.push_back({output.name()->str(),
                                artifact::EnumNameOutputKind(output.kind()),
                                output.buffer()});
      std::string &name = result.buffers[output.buffer()].name;
      if (name.empty())
        name = result.outputs.back().kind + " " + result.outputs.back().name;
    }
    const auto *constants = artifact.tables().constant_outputs();
    for (uint32_t i = 0; constants && i < constants->size(); ++i)
      if (constants->Get(i)->program()->string_view() == result.name)
        result.constantOutputs.emplace_back(constants->Get(i)->name()->str(),
                                            constants->Get(i)->value()->str());
  }

  /// The variable, batch tensor or scalar at the address of `buffer`.
  std::string nameOf(const artifact::Buffer &buffer) const {
    if (buffer.space() == artifact::Space::rank)
      return "rank";
    auto known = names.find({buffer.space(), buffer.offset()});
    return known == names.end() ? std::string() : known->second;
  }

  /// Collects the names of variables, batch tensors and scalars by address.
  void findNames() {
    // At equal addresses, the first name is kept.
    auto add = [&](artifact::Space space, const auto &binding) {
      names.try_emplace({space, binding.offset()}, binding.name()->str());
    };
    const auto *variables = artifact.tables().variables();
    for (uint32_t i = 0; variables && i < variables->size(); ++i)
      if (const artifact::Variable &variable = *variables->Get(i);
          roles[variable.role()].name == program.role()->string_view())
        add(variable.space(), variable);
    for (uint32_t i = 0; program.inputs() && i < program.inputs()->size(); ++i)
      add(artifact::Space::input, *program.inputs()->Get(i));
    const auto *scalars = artifact.tables().scalars();
    for (uint32_t i = 0; scalars && i < scalars->size(); ++i)
      add(artifact::Space::scalar, *scalars->Get(i));
  }

  CommandInfo describe(const artifact::Command &command) const {
    using artifact::CommandBody;
    CommandInfo info;
    switch (command.body_type()) {
    case CommandBody::Launch:
      describe(*command.body_as_Launch(), info);
      break;
    case CommandBody::Start: {
      const artifact::Start &start = *command.body_as_Start();
      info.op = "start";
      info.channel = start.channel();
      info.reads = list(start.operands());
      info.writes = list(start.results());
      for (uint32_t buffer : info.reads)
        info.bytes += result.buffers[buffer].size;
      break;
    }
    case CommandBody::Wait:
      info.op = "wait";
      info.channel = command.body_as_Wait()->channel();
      break;
    case CommandBody::Barrier:
      info.op = "barrier";
      info.channel = command.body_as_Barrier()->channel();
      break;
    case CommandBody::Once:
      info.op = "once";
      info.channel = command.body_as_Once()->channel();
      info.target = command.body_as_Once()->end();
      break;
    case CommandBody::EndOnce:
      info.op = "end_once";
      break;
    case CommandBody::Jump:
      info.op = "jump";
      info.target = command.body_as_Jump()->target();
      break;
    case CommandBody::BranchUnless:
      info.op = "branch_unless";
      info.reads = {command.body_as_BranchUnless()->condition()};
      info.target = command.body_as_BranchUnless()->target();
      break;
    case CommandBody::BranchGreaterEqual: {
      const artifact::BranchGreaterEqual &branch =
          *command.body_as_BranchGreaterEqual();
      info.op = "branch_ge";
      info.registers = {branch.lhs(), branch.rhs()};
      info.target = branch.target();
      break;
    }
    case CommandBody::SetRegister:
      info.op = "set_register";
      info.registers = {command.body_as_SetRegister()->register_()};
      info.value = command.body_as_SetRegister()->value();
      break;
    case CommandBody::AddRegister:
      info.op = "add_register";
      info.registers = {command.body_as_AddRegister()->register_(),
                        command.body_as_AddRegister()->source()};
      break;
    case CommandBody::LoadRegister:
      info.op = "load_register";
      info.registers = {command.body_as_LoadRegister()->register_()};
      info.reads = {command.body_as_LoadRegister()->buffer()};
      break;
    case CommandBody::Copy:
      info.op = "copy";
      info.reads = {command.body_as_Copy()->source()};
      info.writes = {command.body_as_Copy()->destination()};
      info.bytes = result.buffers[info.reads.front()].size;
      break;
    case CommandBody::Next:
      info.op = "next";
      break;
    case CommandBody::Return:
    case CommandBody::NONE:
      info.op = "return";
      break;
    }
    return info;
  }

  void describe(const artifact::Launch &launch, CommandInfo &info) const {
    const artifact::Kernel &kernel =
        *artifact.tables().kernels()->Get(launch.kernel());
    info.op = "launch";
    info.kernel = launch.kernel();
    info.flops = kernel.flops();
    info.bytes = kernel.bytes();
    info.registers = list(launch.registers());
    std::vector<uint32_t> buffers = list(launch.buffers());
    auto writes = buffers.begin() + launch.reads(),
         scratch = writes + launch.writes();
    info.reads.assign(buffers.begin(), writes);
    info.writes.assign(writes, scratch);
    info.scratch.assign(scratch, buffers.end());
  }

  /// A backward jump ends a loop, whose head is a `branch_ge` on a counter. If
  /// all registers involved are constants, the number of iterations is known.
  void findLoops() {
    for (uint32_t i = 0; i < result.commands.size(); ++i)
      if (const CommandInfo &command = result.commands[i];
          command.op == "jump" && *command.target <= i)
        result.loops.push_back(
            {{*command.target, i}, countTrips(*command.target, i)});
  }

  std::optional<uint64_t> countTrips(uint32_t head, uint32_t end) const {
    const CommandInfo &branch = result.commands[head];
    if (branch.op != "branch_ge")
      return std::nullopt;
    uint32_t induction = branch.registers[0];
    std::optional<int64_t> first, limit = constantOf(branch.registers[1]),
                                  stride;
    for (uint32_t i = 0; i < result.commands.size(); ++i) {
      const CommandInfo &command = result.commands[i];
      bool counts =
          (command.op == "set_register" || command.op == "add_register" ||
           command.op == "load_register") &&
          command.registers.front() == induction;
      if (!counts)
        continue;
      bool inside = i > head && i <= end;
      std::optional<int64_t> operand = command.op == "add_register"
                                           ? constantOf(command.registers[1])
                                           : command.value;
      if (!operand || (inside && (stride || command.op != "add_register")))
        return std::nullopt;
      if (inside)
        stride = operand;
      else
        first = command.op == "add_register" ? first.value_or(0) + *operand
                                             : *operand;
    }
    if (!first || !limit || !stride || *stride <= 0)
      return std::nullopt;
    return *first >= *limit
               ? 0
               : (static_cast<uint64_t>(*limit - *first) + *stride - 1) /
                     *stride;
  }

  /// The value of a register that one command sets and no other changes.
  std::optional<int64_t> constantOf(uint32_t index) const {
    std::optional<int64_t> value;
    for (const CommandInfo &command : result.commands) {
      bool changes =
          (command.op == "set_register" || command.op == "add_register" ||
           command.op == "load_register") &&
          command.registers.front() == index;
      if (!changes)
        continue;
      if (value || !command.value)
        return std::nullopt;
      value = command.value;
    }
    return value;
  }

  uint64_t timesOf(uint32_t command) const {
    uint64_t times = 1;
    for (const LoopInfo &loop : result.loops)
      if (loop.commands.first <= command && command <= loop.commands.last)
        times *= loop.trips.value_or(1);
    return times;
  }

  void findCollectives() {
    for (uint32_t i = 0; i < result.commands.size(); ++i)
      if (result.commands[i].op == "wait")
        waits[*result.commands[i].channel].push_back(i);
    lastWriters.resize(result.buffers.size());
    for (uint32_t i = 0; i < result.commands.size(); ++i) {
      const artifact::Command &command = *program.commands()->Get(i);
      if (const artifact::Barrier *barrier = command.body_as_Barrier()) {
        CollectiveInfo info;
        info.channel = barrier->channel();
        info.kind = "barrier";
        info.group = groupName(barrier->group());
        info.line = result.commands[i].line;
        info.start = i;
        addTraffic(info, artifact::CollectiveKind::barrier, barrier->group());
        result.collectives.push_back(std::move(info));
      } else if (const artifact::Start *start = command.body_as_Start()) {
        result.collectives.push_back(describe(*start, i));
      }
      for (uint32_t buffer : result.commands[i].writes)
        lastWriters[buffer] = i;
    }
  }

  CollectiveInfo describe(const artifact::Start &start, uint32_t index) {
    const CommandInfo &command = result.commands[index];
    CollectiveInfo info;
    info.channel = start.channel();
    info.kind = runtime::CollectiveProperties::of(start.kind()).name;
    if (start.reduction() != artifact::Reduction::none)
      info.reduction = artifact::EnumNameReduction(start.reduction());
    info.group = groupName(start.group());
    if (start.root() >= 0)
      info.root = static_cast<uint32_t>(start.root());
    if (start.sources())
      info.sources.assign(start.sources()->begin(), start.sources()->end());
    info.line = command.line;
    info.results = command.writes;
    info.bytes = command.bytes;
    info.start = index;
    if (auto known = waits.find(info.channel); known != waits.end())
      info.waits = known->second;
    auto next = std::upper_bound(info.waits.begin(), info.waits.end(), index);
    for (uint32_t i = index + 1; next != info.waits.end() && i < *next; ++i) {
      CommandInfo &passed = result.commands[i];
      passed.inFlight.push_back(info.channel);
      if (!passed.kernel)
        continue;
      info.between.push_back(i);
      info.flopsBetween += passed.flops * timesOf(i) / timesOf(index);
      info.bytesBetween += passed.bytes * timesOf(i) / timesOf(index);
    }
    info.contiguous = areContiguous(command.reads);
    for (uint32_t buffer : command.reads)
      info.operands.push_back(describeOperand(buffer));
    addTraffic(info, start.kind(), start.group());
    return info;
  }

  void addTraffic(CollectiveInfo &info, artifact::CollectiveKind kind,
                  uint32_t group) {
    uint64_t members = runtime::ranksOf(artifact.tables(), group).size();
    uint64_t bytes = givenBytes(info, runtime::CollectiveProperties::of(kind));
    info.traffic = runtime::trafficOf(kind, members, bytes);
    info.leastTraffic = runtime::leastTrafficOf(kind, members, bytes);
  }

  /// Bytes of the operands of a member, or of the root, as sent: of a reduction
  /// those of accumulators, of a scatter those of the rows. In a role without
  /// operands, bytes of the results.
  uint64_t givenBytes(const CollectiveInfo &info,
                      const runtime::CollectiveProperties &kind) const {
    uint64_t bytes = 0;
    auto add = [&](uint32_t buffer) {
      const artifact::TensorType *type = program.buffers()->Get(buffer)->type();
      uint64_t size = result.buffers[buffer].size;
      if (kind.isReduction && type)
        size = size / runtime::elementSize(type->element()) *
               runtime::accumulatorSize(type->element());
      bytes += size;
    };
    for (const OperandInfo &operand : info.operands) {
      add(operand.buffer);
      if (kind.shape == runtime::ShapeRule::rows)
        break;
    }
    if (info.operands.empty())
      for (uint32_t buffer : info.results)
        add(buffer);
    return bytes;
  }

  bool areContiguous(const std::vector<uint32_t> &indices) const {
    constexpr uint64_t alignment = 64;
    for (size_t i = 1; i < indices.size(); ++i) {
      const BufferInfo &before = result.buffers[indices[i - 1]],
                       &buffer = result.buffers[indices[i]];
      uint64_t end =
          (before.offset + before.size + alignment - 1) / alignment * alignment;
      if (buffer.space != before.space || buffer.offset != end)
        return false;
    }
    return true;
  }

  OperandInfo describeOperand(uint32_t buffer) const {
    std::optional<uint32_t> writer = lastWriters[buffer];
    return {buffer, writer, writer && result.commands[*writer].op == "copy"};
  }

  std::string groupName(uint32_t index) const {
    return artifact.tables().groups()->Get(index)->name()->str();
  }

  void addTotals() {
    for (uint32_t i = 0; i < result.commands.size(); ++i) {
      const CommandInfo &command = result.commands[i];
      uint64_t times = timesOf(i);
      if (command.op == "launch") {
        result.launches += times;
        result.flops += times * command.flops;
        result.kernelBytes += times * command.bytes;
      } else if (command.op == "copy") {
        result.copies += times;
        result.copiedBytes += times * command.bytes;
      } else if (command.op == "start") {
        result.communicatedBytes += times * command.bytes;
      } else if (command.op == "once") {
        result.onceSections += times;
      }
    }
  }

  /// Replicas that take part in a collective.
  uint64_t replicasIn(const artifact::Group &group) const {
    const RoleInfo &replicas = roles.front();
    if (!group.ranks() || group.ranks()->size() == 0)
      return replicas.ranks;
    return std::count_if(group.ranks()->begin(), group.ranks()->end(),
                         [&](uint32_t rank) { return rank < replicas.ranks; });
  }

  /// Bytes of the sizes before a member's operands in a message: all dimensions
  /// of all tensors, or of a scatter, the number of rows.
  uint64_t headerBytes(const artifact::Start &start) const {
    const auto &kind = runtime::CollectiveProperties::of(start.kind());
    if (kind.isReduction)
      return 0;
    if (kind.shape == runtime::ShapeRule::rows)
      return sizeof(int64_t);
    const auto *buffers = start.operands() && start.operands()->size()
                              ? start.operands()
                              : start.results();
    uint64_t dimensions = 0;
    for (uint32_t i = 0; buffers && i < buffers->size(); ++i)
      if (const auto *shape =
              program.buffers()->Get(buffers->Get(i))->type()->shape())
        dimensions += shape->size();
    return dimensions * sizeof(int64_t);
  }

  /// Whether all members receive the root's operands.
  static bool isBroadcast(const artifact::Start &start) {
    const auto &kind = runtime::CollectiveProperties::of(start.kind());
    return kind.operandHolders == runtime::Holders::root && kind.isSameForAll();
  }

  /// Adds a broadcast of a replica, which is sent to every role in the group.
  void addGiven(const CollectiveInfo &collective, const artifact::Group &group,
                uint64_t header) {
    for (ExchangeInfo &exchange : result.exchanges) {
      auto role =
          std::find_if(roles.begin(), roles.end(), [&](const RoleInfo &known) {
            return known.name == exchange.role;
          });
      bool takesPart =
          group.ranks() &&
          std::any_of(group.ranks()->begin(), group.ranks()->end(),
                      [&](uint32_t rank) {
                        return rank >= role->firstRank &&
                               rank - role->firstRank < role->ranks;
                      });
      if (takesPart)
        exchange.toRole +=
            timesOf(collective.start) * (collective.bytes + header);
    }
  }

  /// Each replica sends its operands to a root of another role and receives its
  /// results from it.
  void addExchanges() {
    if (result.role != roles.front().name)
      return;
    for (size_t i = 1; i < roles.size(); ++i)
      result.exchanges.push_back({roles[i].name, 0, 0});
    for (const CollectiveInfo &collective : result.collectives) {
      const artifact::Start *start =
          program.commands()->Get(collective.start)->body_as_Start();
      // A barrier exchanges nothing.
      if (!start)
        continue;
      const artifact::Group &group =
          *artifact.tables().groups()->Get(start->group());
      const RoleInfo &role = roleOfRank(roles, collective.root.value_or(0));
      if (role.name == result.role && isBroadcast(*start))
        addGiven(collective, group, headerBytes(*start));
      auto exchange = std::find_if(
          result.exchanges.begin(), result.exchanges.end(),
          [&](const ExchangeInfo &e) { return e.role == role.name; });
      if (exchange == result.exchanges.end())
        continue;
      uint64_t times = timesOf(collective.start) * replicasIn(group);
      // Without operands, the root sends the sizes.
      uint64_t header = times * headerBytes(*start);
      (collective.operands.empty() ? exchange->fromRole : exchange->toRole) +=
          header;
      exchange->toRole += times * collective.bytes;
      for (uint32_t buffer : collective.results)
        exchange->fromRole += times * result.buffers[buffer].size;
    }
  }

  const runtime::Artifact &artifact;
  const artifact::Program &program;
  const std::vector<RoleInfo> roles = rolesOf(artifact.tables());
  std::map<std::pair<artifact::Space, uint64_t>, std::string> names;
  /// The waits for each channel, in order.
  std::unordered_map<uint32_t, std::vector<uint32_t>> waits;
  /// For each buffer, the last command before the current one that writes it.
  std::vector<std::optional<uint32_t>> lastWriters;
  ProgramInfo result;
};

} // namespace

ProgramInfo inspectProgram(const runtime::Artifact &artifact,
                           const artifact::Program &program) {
  return ProgramInspector(artifact, program).run();
}

} // namespace lockstep::inspect

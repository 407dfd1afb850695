//===- InspectProgram.cpp - commands and collectives of a program ---------===//

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
  /// The memory and the offset of a buffer.
  using Place = std::pair<artifact::Space, uint64_t>;

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
    findLoops(result);
    findCollectives();
    addTotals();
    findExchanges(artifact, program, result);
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

  void findCollectives() {
    for (uint32_t i = 0; i < result.commands.size(); ++i)
      if (result.commands[i].op == "wait")
        waits[*result.commands[i].channel].push_back(i);
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
        lastWriters[placeOf(buffer)] = i;
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
      info.flopsBetween +=
          passed.flops * timesOf(result, i) / timesOf(result, index);
      info.bytesBetween +=
          passed.bytes * timesOf(result, i) / timesOf(result, index);
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
    std::optional<uint32_t> writer;
    if (auto known = lastWriters.find(placeOf(buffer));
        known != lastWriters.end())
      writer = known->second;
    return {buffer, writer, writer && result.commands[*writer].op == "copy"};
  }

  Place placeOf(uint32_t buffer) const {
    return {result.buffers[buffer].space, result.buffers[buffer].offset};
  }

  std::string groupName(uint32_t index) const {
    return artifact.tables().groups()->Get(index)->name()->str();
  }

  void addTotals() {
    for (uint32_t i = 0; i < result.commands.size(); ++i) {
      const CommandInfo &command = result.commands[i];
      uint64_t times = timesOf(result, i);
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

  const runtime::Artifact &artifact;
  const artifact::Program &program;
  const std::vector<RoleInfo> roles = rolesOf(artifact.tables());
  std::map<Place, std::string> names;
  /// The waits for each channel, in order.
  std::unordered_map<uint32_t, std::vector<uint32_t>> waits;
  /// The last command before the current one that writes to a place. Buffers
  /// at one place are the same value in another shape.
  std::map<Place, uint32_t> lastWriters;
  ProgramInfo result;
};

} // namespace

ProgramInfo inspectProgram(const runtime::Artifact &artifact,
                           const artifact::Program &program) {
  return ProgramInspector(artifact, program).run();
}

} // namespace lockstep::inspect

//===- InspectionText.cpp - the inspection as text ------------------------===//

#include "tools/lockstep-inspect/Sections.h"
#include "tools/support/Table.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::inspect {

using tools::bytesText;
using tools::countText;
using tools::Table;

namespace {

const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

/// "%3 %4 > %7"; empty if the command uses no buffer.
std::string bufferText(const CommandInfo &command) {
  auto join = [](const std::vector<uint32_t> &indices) {
    constexpr size_t shown = 8;
    std::string text;
    for (size_t i = 0; i < std::min(shown, indices.size()); ++i)
      text += fmt::format("{}%{}", i ? " " : "", indices[i]);
    return indices.size() > shown
               ? text + fmt::format(" and {} more", indices.size() - shown)
               : text;
  };
  std::string reads = join(command.reads), writes = join(command.writes);
  return writes.empty()  ? reads
         : reads.empty() ? "> " + writes
                         : reads + " > " + writes;
}

std::string collectiveText(const CollectiveInfo &collective) {
  std::string text = collective.reduction.empty()
                         ? collective.kind
                         : collective.kind + " " + collective.reduction;
  return collective.root ? fmt::format("{} root {}", text, *collective.root)
                         : text;
}

/// "'step'", or "'step' of server0" where there are several roles.
std::string titleOf(const Inspection &inspection, const ProgramInfo &program) {
  return inspection.roles.size() == 1
             ? fmt::format("'{}'", program.name)
             : fmt::format("'{}' of {}", program.name, program.role);
}

/// The share of `part` in `whole` in percent.
std::string percent(uint64_t part, uint64_t whole) {
  return whole == 0
             ? "0 %"
             : fmt::format("{:.0f} %", 100.0 * static_cast<double>(part) /
                                           static_cast<double>(whole));
}

std::string section(const std::string &title, const Table &table) {
  return table.empty() ? "" : fmt::format("\n{}\n{}", title, table.text());
}

//===----------------------------------------------------------------------===//
// The artifact
//===----------------------------------------------------------------------===//

std::string ranksText(const RoleInfo &role) {
  return role.ranks == 1 ? fmt::format("{}", role.firstRank)
                         : fmt::format("{} to {}", role.firstRank,
                                       role.firstRank + role.ranks - 1);
}

/// "0 to 3 of table"; empty for a variable that is whole.
std::string shardText(const VariableInfo &variable) {
  if (!variable.shard)
    return "";
  return fmt::format("{} to {} of {}", variable.shard->first,
                     variable.shard->first + variable.shard->rows - 1,
                     variable.shard->of);
}

/// "model.py:10, command 3 of server0".
std::string openText(const ProofInfo &proof) {
  std::string text;
  for (const OpenConditionInfo &condition : proof.open)
    text += fmt::format(
        "{}{}", text.empty() ? "" : ", ",
        condition.line.empty()
            ? fmt::format("command {} of {}", condition.command, condition.role)
            : condition.line);
  return text;
}

std::string summary(const Inspection &inspection) {
  std::string text;
  auto line = [&](const char *name, const std::string &value) {
    text += fmt::format("{:<10}{}\n", name, value);
  };
  line("artifact",
       fmt::format("{} ({}, {}, format version {})",
                   inspection.name.empty() ? "unnamed" : inspection.name,
                   inspection.file, bytesText(inspection.fileSize),
                   inspection.formatVersion));
  line("digest", "sha256 " + inspection.digest);
  line("signed",
       inspection.signer.empty() ? "no" : "by key " + inspection.signer);
  line("replicas", fmt::format("{}", inspection.replicas));
  std::vector<std::string> targets;
  for (const BinaryInfo &binary : inspection.binaries)
    targets.push_back(fmt::format(
        "{} ({}{})", binary.target, bytesText(binary.bytes),
        binary.cubinBytes
            ? fmt::format(", assembled {}", bytesText(*binary.cubinBytes))
            : ""));
  line("targets", fmt::format("{}", fmt::join(targets, ", ")));
  line("memory", fmt::format("a process: {} variables, {} constants, {} "
                             "scalars; a replica: {} variables",
                             bytesText(inspection.variableSize),
                             bytesText(inspection.constantSize),
                             bytesText(inspection.scalarSize),
                             bytesText(inspection.replicaVariableSize)));

  Table roles({"role", "ranks", ">variables a process", ">variables a rank",
               "programs"});
  for (const RoleInfo &role : inspection.roles)
    roles.add({role.name, ranksText(role), bytesText(role.variableSize),
               bytesText(role.replicaVariableSize),
               fmt::format("{}", fmt::join(role.programs, ", "))});
  bool hasServers = inspection.roles.size() > 1;
  if (hasServers)
    text += section("roles", roles);

  std::vector<std::string> columns = {"name",        "type",
                                      ">bytes",      ">offset",
                                      "space",       "synchronization",
                                      "aggregation", "initial value"};
  bool hasParts = std::ranges::any_of(inspection.variables,
                                      [](const VariableInfo &variable) {
                                        return variable.wholeType.has_value();
                                      });
  bool hasShards = std::ranges::any_of(
      inspection.variables,
      [](const VariableInfo &variable) { return variable.shard.has_value(); });
  if (hasServers)
    columns.push_back("role");
  if (hasServers || hasShards)
    columns.push_back("rows");
  if (hasParts)
    columns.push_back("a part of");
  Table variables(columns);
  for (const VariableInfo &variable : inspection.variables) {
    std::vector<std::string> row = {variable.name,
                                    variable.type,
                                    bytesText(variable.bytes),
                                    fmt::format("{}", variable.offset),
                                    variable.space,
                                    variable.synchronization,
                                    variable.aggregation,
                                    variable.hasInitial ? "in the artifact"
                                                        : "by --init"};
    if (hasServers)
      row.push_back(variable.role);
    if (hasServers || hasShards)
      row.push_back(shardText(variable));
    if (hasParts)
      row.push_back(variable.wholeType.value_or(""));
    variables.add(row);
  }
  text += section("variables", variables);

  Table scalars({"name", "type", "default"});
  for (const ScalarInfo &scalar : inspection.scalars)
    scalars.add({scalar.name, scalar.type,
                 scalar.defaultValue.value_or("given by the host")});
  text += section("scalars", scalars);

  Table groups({"name", "ranks"});
  for (const GroupInfo &group : inspection.groups)
    groups.add(
        {group.name, group.ranks.empty()
                         ? "all"
                         : fmt::format("{}", fmt::join(group.ranks, ", "))});
  if (inspection.groups.size() > 1)
    text += section("groups", groups);

  Table proofs({"program", "verdict", "method", "decided when it runs"});
  for (const ProofInfo &proof : inspection.proofs)
    proofs.add({proof.program, proof.verdict, proof.method, openText(proof)});
  text += section("replicas never wait for each other forever", proofs);
  return text;
}

std::string kernels(const Inspection &inspection) {
  Table table({"symbol", ">launches", ">grid", ">flops", ">bytes",
               ">flops/byte", "line"});
  for (const KernelInfo &kernel : inspection.kernels)
    table.add(
        {kernel.symbol, fmt::format("{}", kernel.launches),
         fmt::format("{}", kernel.grid), countText(kernel.flops),
         bytesText(kernel.bytes),
         kernel.bytes == 0
             ? "-"
             : fmt::format("{:.2f}", static_cast<double>(kernel.flops) /
                                         static_cast<double>(kernel.bytes)),
         kernel.line});
  std::string text =
      section("kernels (flops and bytes are of one launch)", table);
  for (const GpuCodeInfo &code : inspection.gpuCode)
    text += section("grids of kernels for " + code.target +
                        " (shared memory is of a block, registers and what "
                        "they spill are of a thread)",
                    tableOf(code));
  return text;
}

std::string remarks(const Inspection &inspection) {
  Table table({"stage", "kind", "program", "line", "remark"});
  for (const RemarkInfo &remark : inspection.remarks)
    table.add({remark.stage, remark.kind, remark.program, remark.line,
               remark.message});
  return section("remarks", table);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

std::string programSummary(const ProgramInfo &program) {
  std::string text =
      fmt::format("\nprogram '{}' (role {})\n", program.name, program.role);
  auto memory = [](uint64_t size, const PeakInfo &peak) {
    return size == 0
               ? bytesText(0)
               : fmt::format("{} (peak {} at command {})", bytesText(size),
                             bytesText(peak.bytes), peak.command);
  };
  text +=
      fmt::format("  memory         a replica: {}, inputs {}; a process: {}\n",
                  memory(program.replicaSize, program.replicaPeak),
                  bytesText(program.inputSize),
                  memory(program.sharedSize, program.sharedPeak));
  text += fmt::format(
      "  kernels        {} launch{}, {} flops, {} read and written\n",
      program.launches, program.launches == 1 ? "" : "es",
      countText(program.flops), bytesText(program.kernelBytes));
  uint64_t hidden = 0;
  for (const CollectiveInfo &collective : program.collectives)
    hidden += !collective.between.empty();
  text += fmt::format("  communication  {} collective{}, {} a replica; {} with "
                      "kernels between start and wait\n",
                      program.collectives.size(),
                      plural(program.collectives.size()),
                      bytesText(program.communicatedBytes), hidden);
  for (const ExchangeInfo &exchange : program.exchanges)
    text +=
        fmt::format("  {:<14} all replicas give {} to it and get {} from it\n",
                    exchange.role, bytesText(exchange.toRole),
                    bytesText(exchange.fromRole));
  text += fmt::format("  copies         {}, {}\n", program.copies,
                      bytesText(program.copiedBytes));
  text += fmt::format("  once sections  {}\n", program.onceSections);
  for (const LoopInfo &loop : program.loops)
    text += fmt::format("  loop           commands {} to {}, {}\n",
                        loop.commands.first, loop.commands.last,
                        loop.trips ? fmt::format("{} times", *loop.trips)
                                   : "as often as is decided at run time");
  for (const InputInfo &input : program.inputs)
    text += fmt::format("  input          {} : {}\n", input.name, input.type);
  for (const OutputInfo &output : program.outputs)
    text += fmt::format("  output         {} {} : {}\n", output.kind,
                        output.name, program.buffers[output.buffer].type);
  for (const auto &[name, value] : program.constantOutputs)
    text += fmt::format("  output         constant {} = {}\n", name, value);
  return text;
}

/// One column for each collective in flight, from its start to its wait.
class Lanes {
public:
  explicit Lanes(const ProgramInfo &program) : program(program) {}

  std::string next(uint32_t command) {
    const CommandInfo &info = program.commands[command];
    std::string text;
    size_t lane = lanes.size();
    if (info.op == "start") {
      lane =
          std::find(lanes.begin(), lanes.end(), std::nullopt) - lanes.begin();
      if (lane == lanes.size())
        lanes.emplace_back();
      lanes[lane] = info.channel;
    } else if (info.op == "wait") {
      lane =
          std::find(lanes.begin(), lanes.end(), info.channel) - lanes.begin();
    }
    for (size_t i = 0; i < lanes.size(); ++i)
      text += i == lane  ? (info.op == "start" ? "┌" : "└")
              : lanes[i] ? "│"
                         : " ";
    if (info.op == "wait" && lane < lanes.size())
      lanes[lane].reset();
    while (!lanes.empty() && !lanes.back())
      lanes.pop_back();
    return text;
  }

private:
  const ProgramInfo &program;
  std::vector<std::optional<uint32_t>> lanes;
};

std::string schedule(const Inspection &inspection, const ProgramInfo &program) {
  Table table({">pc", "", "command", "buffers", ">flops", ">bytes", "line"});
  Lanes lanes(program);
  for (uint32_t i = 0; i < program.commands.size(); ++i) {
    const CommandInfo &command = program.commands[i];
    unsigned depth = command.once && command.op != "end_once" ? 1 : 0;
    for (const LoopInfo &loop : program.loops)
      depth += i > loop.commands.first && i <= loop.commands.last;
    table.add(
        {fmt::format("{}", i), lanes.next(i),
         std::string(2 * depth, ' ') + commandText(inspection, program, i),
         bufferText(command), command.kernel ? countText(command.flops) : "",
         command.kernel || command.bytes ? bytesText(command.bytes) : "",
         command.line});
  }
  return section(fmt::format("schedule of {} (┌ a collective starts, │ it is "
                             "in flight, └ it is waited for)",
                             titleOf(inspection, program)),
                 table);
}

std::string collectives(const Inspection &inspection,
                        const ProgramInfo &program) {
  Table table({">channel", "collective", "group", ">operands", ">bytes",
               "start", "wait", "kernels between", ">flops", ">of all",
               "bucket", "line"});
  for (const CollectiveInfo &collective : program.collectives) {
    std::string between = collective.between.empty()
                              ? "none: exposed"
                              : fmt::format("{}", collective.between.size());
    std::string bucket;
    if (collective.operands.size() > 1)
      bucket = collective.contiguous ? "contiguous" : "scattered";
    if (auto copied = std::count_if(
            collective.operands.begin(), collective.operands.end(),
            [](const OperandInfo &o) { return o.copied; }))
      bucket += fmt::format("{}{} copied", bucket.empty() ? "" : ", ", copied);
    table.add({fmt::format("{}", collective.channel),
               collectiveText(collective), collective.group,
               fmt::format("{}", collective.operands.size()),
               bytesText(collective.bytes), fmt::format("{}", collective.start),
               fmt::format("{}", fmt::join(collective.waits, ", ")),
               collective.kind == "barrier" ? "" : between,
               countText(collective.flopsBetween),
               percent(collective.flopsBetween, program.flops), bucket,
               collective.line});
  }
  std::string text =
      section(fmt::format("collectives of {} (bytes: of each replica; kernels "
                          "between: what it can hide behind)",
                          titleOf(inspection, program)),
              table);

  Table operands({">channel", ">operand", "type", ">bytes", "memory", ">offset",
                  ">ready", "by", "line"});
  for (const CollectiveInfo &collective : program.collectives)
    for (const OperandInfo &operand : collective.operands) {
      const BufferInfo &buffer = program.buffers[operand.buffer];
      operands.add(
          {fmt::format("{}", collective.channel),
           fmt::format("%{}", operand.buffer), buffer.type,
           bytesText(buffer.size), artifact::EnumNameSpace(buffer.space),
           fmt::format("{}", buffer.offset),
           operand.ready ? fmt::format("{}", *operand.ready) : "always",
           operand.ready ? commandText(inspection, program, *operand.ready)
                         : "",
           operand.ready ? program.commands[*operand.ready].line : ""});
    }
  return text + section(fmt::format("operands of the collectives of {} (ready: "
                                    "the command that writes it)",
                                    titleOf(inspection, program)),
                        operands);
}

std::string memory(const Inspection &inspection, const ProgramInfo &program) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < program.buffers.size(); ++i)
    order.push_back(i);
  auto key = [&](uint32_t i) {
    const BufferInfo &buffer = program.buffers[i];
    return std::tuple(buffer.space, buffer.offset,
                      buffer.live ? buffer.live->first : 0, i);
  };
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  Table table(
      {"space", ">offset", ">size", ">buffer", "type", "in use by", "name"});
  for (uint32_t i : order) {
    const BufferInfo &buffer = program.buffers[i];
    std::string live = "nothing";
    if (buffer.live)
      live =
          buffer.live->first == buffer.live->last
              ? fmt::format("{}", buffer.live->first)
              : fmt::format("{} to {}", buffer.live->first, buffer.live->last);
    table.add({artifact::EnumNameSpace(buffer.space),
               fmt::format("{}", buffer.offset), fmt::format("{}", buffer.size),
               fmt::format("%{}", i), buffer.type, live, buffer.name});
  }
  return section(fmt::format("memory of {} (bytes; in use by which commands)",
                             titleOf(inspection, program)),
                 table);
}

} // namespace

std::string commandText(const Inspection &inspection,
                        const ProgramInfo &program, uint32_t index) {
  const CommandInfo &command = program.commands[index];
  auto collective = [&] {
    return std::find_if(
        program.collectives.begin(), program.collectives.end(),
        [&](const CollectiveInfo &c) { return c.start == index; });
  };
  if (command.op == "launch") {
    const KernelInfo &kernel = inspection.kernels[*command.kernel];
    std::string text = "launch " + kernel.symbol;
    if (kernel.grid > 1)
      text += fmt::format(" grid {}", kernel.grid);
    if (!command.registers.empty())
      text += fmt::format(" registers {}", fmt::join(command.registers, ", "));
    return text;
  }
  if (command.op == "start")
    return fmt::format("start {} channel {}", collectiveText(*collective()),
                       *command.channel);
  if (command.op == "barrier")
    return fmt::format("barrier {} channel {}", collective()->group,
                       *command.channel);
  if (command.op == "wait" || command.op == "once")
    return fmt::format("{} channel {}", command.op, *command.channel);
  if (command.op == "set_register")
    return fmt::format("set_register {} to {}", command.registers[0],
                       *command.value);
  std::string text = command.op;
  if (!command.registers.empty())
    text += fmt::format(" {}", fmt::join(command.registers, ", "));
  if (command.target)
    text += fmt::format(" to {}", *command.target);
  return text;
}

std::string toText(const Inspection &inspection,
                   const std::set<Section> &sections) {
  auto shows = [&](Section section) { return sections.count(section) > 0; };
  std::string text;
  if (shows(Section::summary))
    text += summary(inspection);
  for (const ProgramInfo &program : inspection.programs) {
    if (shows(Section::summary))
      text += programSummary(program);
    if (shows(Section::simulation))
      text += scheduleText(program);
    if (shows(Section::collectives))
      text += collectives(inspection, program);
    if (shows(Section::schedule))
      text += schedule(inspection, program);
    if (shows(Section::memory))
      text += memory(inspection, program);
  }
  if (shows(Section::kernels))
    text += kernels(inspection);
  if (shows(Section::remarks))
    text += remarks(inspection);
  return text;
}

} // namespace lockstep::inspect

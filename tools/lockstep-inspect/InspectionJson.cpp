//===- InspectionJson.cpp - the inspection as JSON ------------------------===//

#include "tools/lockstep-inspect/Sections.h"

#include "runtime/support/JsonText.h"
#include "tools/lockstep-inspect/ScheduleJson.h"

namespace lockstep::inspect {

namespace {

/// An array of the results of `f`.
template <typename T, typename Function>
Json array(const std::vector<T> &elements, Function f) {
  Json result = Json::array();
  for (const T &element : elements)
    result.push_back(f(element));
  return result;
}

Json toJson(const CommandRange &range) {
  return {{"first", range.first}, {"last", range.last}};
}

Json toJson(const PeakInfo &peak, uint64_t size) {
  return {{"size", size}, {"peak", peak.bytes}, {"peak_command", peak.command}};
}

Json toJson(const CommandInfo &command, uint32_t index,
            const Inspection &inspection, const ProgramInfo &program) {
  Json json = {{"pc", index},
               {"op", command.op},
               {"text", commandText(inspection, program, index)},
               {"line", command.line}};
  if (command.kernel)
    json["kernel"] = inspection.kernels[*command.kernel].symbol;
  if (command.channel)
    json["channel"] = *command.channel;
  if (command.target)
    json["target"] = *command.target;
  for (auto [name, indices] : {std::pair("reads", &command.reads),
                               std::pair("writes", &command.writes),
                               std::pair("scratch", &command.scratch),
                               std::pair("registers", &command.registers)})
    if (!indices->empty())
      json[name] = *indices;
  if (command.value)
    json["value"] = *command.value;
  if (command.kernel)
    json["flops"] = command.flops;
  if (command.bytes > 0 || command.kernel)
    json["bytes"] = command.bytes;
  json["once"] = command.once;
  json["in_flight"] = command.inFlight;
  return json;
}

Json toJson(const GpuLaunchInfo &launch) {
  std::optional<uint32_t> registers, spilled;
  if (launch.assembly) {
    registers = launch.assembly->registers;
    spilled = launch.assembly->spilledBytes;
  }
  return {{"function", launch.function},
          {"blocks", launch.blocks},
          {"threads", launch.threads},
          {"shared_bytes", launch.sharedBytes},
          {"registers", orNull(registers)},
          {"spilled_bytes", orNull(spilled)},
          {"occupancy", orNull(launch.occupancy)}};
}

Json toJson(const CollectiveInfo &collective) {
  return {{"channel", collective.channel},
          {"kind", collective.kind},
          {"reduction", collective.reduction.empty()
                            ? Json(nullptr)
                            : Json(collective.reduction)},
          {"group", collective.group},
          {"root", orNull(collective.root)},
          {"sources", collective.sources.empty() ? Json(nullptr)
                                                 : Json(collective.sources)},
          {"line", collective.line},
          {"operands", array(collective.operands,
                             [](const OperandInfo &operand) {
                               return Json{{"buffer", operand.buffer},
                                           {"ready", orNull(operand.ready)},
                                           {"copied", operand.copied},
                                           {"updates", operand.updates}};
                             })},
          {"results", collective.results},
          {"bytes", collective.bytes},
          {"traffic",
           {{"messages", collective.traffic.messages},
            {"bytes", collective.traffic.bytes},
            {"least_messages", collective.leastTraffic.messages},
            {"least_bytes", collective.leastTraffic.bytes}}},
          {"start", collective.start},
          {"waits", collective.waits},
          {"between",
           {{"launches", collective.between},
            {"flops", collective.flopsBetween},
            {"bytes", collective.bytesBetween}}},
          {"contiguous", collective.contiguous},
          {"remarks", collective.remarks},
          {"begin_remark", orNull(collective.beginRemark)}};
}

Json toJson(const BufferInfo &buffer, uint32_t index) {
  return {{"index", index},
          {"space", artifact::EnumNameSpace(buffer.space)},
          {"offset", buffer.offset},
          {"size", buffer.size},
          {"type", buffer.type},
          {"name", buffer.name.empty() ? Json(nullptr) : Json(buffer.name)},
          {"live", buffer.live ? toJson(*buffer.live) : Json(nullptr)}};
}

Json toJson(const ProgramInfo &program, const Inspection &inspection) {
  Json json = {{"name", program.name},
               {"role", program.role},
               {"memory",
                {{"replica", toJson(program.replicaPeak, program.replicaSize)},
                 {"shared", toJson(program.sharedPeak, program.sharedSize)},
                 {"input", {{"size", program.inputSize}}}}},
               {"registers", program.registers},
               {"channels", program.channels},
               {"totals",
                {{"launches", program.launches},
                 {"flops", program.flops},
                 {"kernel_bytes", program.kernelBytes},
                 {"copies", program.copies},
                 {"copied_bytes", program.copiedBytes},
                 {"communicated_bytes", program.communicatedBytes},
                 {"once_sections", program.onceSections}}}};
  json["inputs"] = array(program.inputs, [](const InputInfo &input) {
    return Json{
        {"name", input.name}, {"type", input.type}, {"offset", input.offset}};
  });
  json["outputs"] = array(program.outputs, [](const OutputInfo &output) {
    return Json{{"name", output.name},
                {"kind", output.kind},
                {"buffer", output.buffer}};
  });
  json["constant_outputs"] = Json::object();
  for (const auto &[name, value] : program.constantOutputs)
    json["constant_outputs"][name] = Json::parse(value);
  json["commands"] = Json::array();
  for (uint32_t i = 0; i < program.commands.size(); ++i)
    json["commands"].push_back(
        toJson(program.commands[i], i, inspection, program));
  json["loops"] = array(program.loops, [](const LoopInfo &loop) {
    return Json{{"commands", toJson(loop.commands)},
                {"trips", orNull(loop.trips)}};
  });
  json["collectives"] =
      array(program.collectives, [](const CollectiveInfo &collective) {
        return toJson(collective);
      });
  json["exchanges"] =
      array(program.exchanges, [](const ExchangeInfo &exchange) {
        return Json{{"role", exchange.role},
                    {"to", exchange.toRole},
                    {"from", exchange.fromRole}};
      });
  json["buffers"] = Json::array();
  for (uint32_t i = 0; i < program.buffers.size(); ++i)
    json["buffers"].push_back(toJson(program.buffers[i], i));
  json["simulation"] = scheduleToJson(program);
  return json;
}

} // namespace

std::string toJson(const Inspection &inspection) {
  Json json = {
      {"schema", "lockstep-inspect/1"},
      {"file", inspection.file},
      {"name", inspection.name},
      {"format_version", inspection.formatVersion},
      {"digest", inspection.digest},
      {"signer", inspection.signer.empty() ? Json() : Json(inspection.signer)},
      {"file_size", inspection.fileSize},
      {"replicas", inspection.replicas},
      {"memory",
       {{"variable", inspection.variableSize},
        {"replica_variable", inspection.replicaVariableSize},
        {"scalar", inspection.scalarSize},
        {"constant", inspection.constantSize}}}};
  json["binaries"] = array(inspection.binaries, [](const BinaryInfo &binary) {
    return Json{{"target", binary.target},
                {"bytes", binary.bytes},
                {"cubin_bytes",
                 binary.cubinBytes ? Json(*binary.cubinBytes) : Json(nullptr)}};
  });
  json["groups"] = array(inspection.groups, [](const GroupInfo &group) {
    return Json{
        {"name", group.name},
        {"ranks", group.ranks.empty() ? Json(nullptr) : Json(group.ranks)}};
  });
  json["roles"] = array(inspection.roles, [](const RoleInfo &role) {
    return Json{{"name", role.name},
                {"first_rank", role.firstRank},
                {"ranks", role.ranks},
                {"memory",
                 {{"variable", role.variableSize},
                  {"replica_variable", role.replicaVariableSize}}},
                {"programs", role.programs}};
  });
  json["variables"] =
      array(inspection.variables, [](const VariableInfo &variable) {
        return Json{{"name", variable.name},
                    {"type", variable.type},
                    {"space", variable.space},
                    {"offset", variable.offset},
                    {"bytes", variable.bytes},
                    {"synchronization", variable.synchronization},
                    {"aggregation", variable.aggregation},
                    {"initial", variable.hasInitial},
                    {"role", variable.role},
                    {"shard", variable.shard
                                  ? Json{{"of", variable.shard->of},
                                         {"first_row", variable.shard->first},
                                         {"rows", variable.shard->rows}}
                                  : Json(nullptr)},
                    {"whole_type", orNull(variable.wholeType)}};
      });
  json["scalars"] = array(inspection.scalars, [](const ScalarInfo &scalar) {
    return Json{{"name", scalar.name},
                {"type", scalar.type},
                {"default", orNull(scalar.defaultValue)}};
  });
  json["kernels"] = array(inspection.kernels, [](const KernelInfo &kernel) {
    return Json{{"symbol", kernel.symbol},     {"grid", kernel.grid},
                {"flops", kernel.flops},       {"bytes", kernel.bytes},
                {"launches", kernel.launches}, {"line", kernel.line}};
  });
  json["gpu_code"] = array(inspection.gpuCode, [](const GpuCodeInfo &code) {
    return Json{{"target", code.target},
                {"grids", array(code.launches, [](const GpuLaunchInfo &launch) {
                   return toJson(launch);
                 })}};
  });
  json["programs"] =
      array(inspection.programs, [&](const ProgramInfo &program) {
        return toJson(program, inspection);
      });
  json["proofs"] = array(inspection.proofs, [](const ProofInfo &proof) {
    Json open = array(proof.open, [](const OpenConditionInfo &condition) {
      return Json{{"role", condition.role},
                  {"command", condition.command},
                  {"line", condition.line}};
    });
    return Json{{"program", proof.program},
                {"verdict", proof.verdict},
                {"method", proof.method},
                {"dynamic", std::move(open)}};
  });
  json["remarks"] = array(inspection.remarks, [](const RemarkInfo &remark) {
    return Json{{"stage", remark.stage},
                {"kind", remark.kind},
                {"message", remark.message},
                {"line", remark.line},
                {"program", remark.program.empty() ? Json(nullptr)
                                                   : Json(remark.program)}};
  });
  return runtime::jsonText(json, 2) + "\n";
}

} // namespace lockstep::inspect

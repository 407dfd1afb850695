//===- SimulatedTrace.cpp - the timeline and critical path ----------------===//

#include "runtime/simulator/Simulation.h"
#include "runtime/support/TraceFile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace lockstep::runtime {

std::string linkLaneName(uint64_t stream, uint64_t streams) {
  return streams == 1 ? "link" : fmt::format("link, stream {}", stream);
}

bool isLinkLane(std::string_view name) {
  return name == "link" || name.starts_with("link, stream ");
}

using artifact::CommandBody;

std::string simulatedName(const artifact::Artifact &tables,
                          const artifact::Program &program, uint32_t index) {
  const artifact::Command &command = *program.commands()->Get(index);
  switch (command.body_type()) {
  case CommandBody::Launch:
    return tables.kernels()
        ->Get(command.body_as_Launch()->kernel())
        ->symbol()
        ->str();
  case CommandBody::Start: {
    const artifact::Start &start = *command.body_as_Start();
    std::string name = CollectiveProperties::of(start.kind()).name;
    if (start.reduction() != artifact::Reduction::none)
      name +=
          fmt::format(" {}", artifact::EnumNameReduction(start.reduction()));
    return fmt::format("{} channel {}", name, start.channel());
  }
  case CommandBody::Wait:
    return fmt::format("wait channel {}", command.body_as_Wait()->channel());
  case CommandBody::Barrier:
    return fmt::format("barrier channel {}",
                       command.body_as_Barrier()->channel());
  case CommandBody::Once:
    return fmt::format("once channel {}", command.body_as_Once()->channel());
  default:
    return "copy";
  }
}

std::vector<CriticalCommand>
criticalPath(const Artifact &artifact, const artifact::Program &program,
             std::span<const SimulatedEvent> events, size_t last) {
  std::map<uint32_t, CriticalCommand> parts;
  for (size_t event = last; event != SimulatedEvent::noCause;
       event = events[event].cause) {
    const SimulatedEvent &each = events[event];
    if (each.kind == SimulatedEvent::Kind::wait)
      continue;
    // A transfer that waited for another stream has begun before that ended.
    double begin = each.begin;
    if (each.cause != SimulatedEvent::noCause)
      begin = std::max(begin, events[each.cause].end);
    CriticalCommand &part = parts[each.command];
    part.seconds += each.end - begin;
    ++part.executions;
  }
  std::vector<CriticalCommand> path;
  for (auto &[command, part] : parts) {
    part.name = simulatedName(artifact.tables(), program, command);
    part.location =
        artifact.location(program.commands()->Get(command)->location());
    path.push_back(std::move(part));
  }
  std::sort(path.begin(), path.end(),
            [](const CriticalCommand &a, const CriticalCommand &b) {
              return std::tie(b.seconds, a.name) < std::tie(a.seconds, b.name);
            });
  return path;
}

Status writeSimulatedTrace(const std::string &path, const Artifact &artifact,
                           const SimulationResult &result) {
  const artifact::Artifact &tables = artifact.tables();
  Expected<const artifact::Program *> program =
      findSimulated(tables, result.program);
  if (!program)
    return program.status();
  TraceFile file;
  file.nameProcess(0, "simulation");
  for (size_t lane = 0; lane < result.lanes.size(); ++lane)
    file.nameThread(0, lane, result.lanes[lane].name,
                    result.lanes[lane].replicas);
  static constexpr const char *categories[] = {"kernel", "collective", "wait"};
  for (const SimulatedEvent &event : result.events) {
    std::string name = simulatedName(tables, **program, event.command);
    if (event.kind == SimulatedEvent::Kind::wait && !name.starts_with("wait"))
      name = "wait for " + name;
    file.addEvent(
        {.process = 0,
         .thread = event.lane,
         .begin = event.begin * 1e6,
         .duration = (event.end - event.begin) * 1e6,
         .name = name,
         .category = categories[size_t(event.kind)],
         .command = event.command,
         .program = result.program,
         .location = artifact.location(
             (*program)->commands()->Get(event.command)->location())});
  }
  return file.write(path);
}

} // namespace lockstep::runtime

//===- SimulatedSchedule.cpp ----------------------------------------------===//

#include "tools/lockstep-inspect/Inspection.h"

#include "runtime/simulator/StoredTopology.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace lockstep::inspect {

using runtime::Artifact;
using runtime::Expected;
using runtime::SimulatedEvent;
using runtime::SimulationOptions;
using runtime::SimulationResult;
using runtime::Topology;

namespace {

/// The lane of the replicas; all behave alike.
constexpr size_t replicaLane = 0;

/// Derives what happens to each collective from the events.
class ExchangeCollector {
public:
  explicit ExchangeCollector(ProgramInfo &program)
      : program(program), schedule(program.simulated),
        events(schedule.result.events) {
    schedule.exchanges.resize(program.collectives.size());
    for (size_t i = 0; i < program.collectives.size(); ++i)
      indices[program.collectives[i].start] = i;
  }

  void run() {
    markCriticalPath();
    for (size_t i = 0; i < events.size(); ++i) {
      const SimulatedEvent &event = events[i];
      if (event.lane == replicaLane)
        findNeeds(event);
      switch (event.kind) {
      case SimulatedEvent::Kind::kernel:
        ends[event.command] = event.end;
        break;
      case SimulatedEvent::Kind::collective:
        addTransfer(i);
        break;
      case SimulatedEvent::Kind::wait:
        addWait(event);
        break;
      }
      if (event.lane == replicaLane)
        replicaNow = event.end;
    }
    for (size_t index : pending)
      schedule.exchanges[index].needed = schedule.result.seconds;
  }

private:
  /// The collective that a command starts, if it is one.
  ExchangeTimes *find(uint32_t command) {
    auto known = indices.find(command);
    return known == indices.end() ? nullptr
                                  : &schedule.exchanges[known->second];
  }

  void markCriticalPath() {
    schedule.isCritical.resize(events.size());
    size_t event = SimulatedEvent::noCause;
    for (size_t i = 0; i < events.size(); ++i)
      if (events[i].lane == replicaLane)
        event = i;
    for (; event != SimulatedEvent::noCause; event = events[event].cause)
      schedule.isCritical[event] =
          events[event].kind != SimulatedEvent::Kind::wait;
  }

  /// The results of a collective are needed when the replica has executed its
  /// wait: before the first event behind it, or that of the wait itself.
  void findNeeds(const SimulatedEvent &event) {
    std::erase_if(pending, [&](size_t index) {
      const CollectiveInfo &info = program.collectives[index];
      uint32_t wait = info.waits.empty() ? info.start : info.waits.front();
      bool isNeeded = event.command >= wait || event.command < info.start ||
                      (event.kind == SimulatedEvent::Kind::wait &&
                       event.command == info.start);
      if (isNeeded)
        schedule.exchanges[index].needed = event.begin;
      return isNeeded;
    });
  }

  void addTransfer(size_t index) {
    const SimulatedEvent &event = events[index];
    // What its stream has carried before.
    std::optional<uint32_t> last =
        std::exchange(lastOfStream[event.lane], event.command);
    ExchangeTimes *exchange = find(event.command);
    if (!exchange)
      return;
    const CollectiveInfo &info = program.collectives[indices.at(event.command)];
    double seconds = event.end - event.begin;
    if (exchange->executions++ == 0) {
      exchange->start = replicaNow;
      exchange->firstReady = replicaNow;
      for (const OperandInfo &operand : info.operands)
        exchange->firstReady = std::min(
            exchange->firstReady, operand.ready && ends.count(*operand.ready)
                                      ? ends[*operand.ready]
                                      : 0);
      exchange->begin = event.begin;
      exchange->end = event.end;
      pending.push_back(indices.at(event.command));
      if (event.begin > replicaNow && last)
        exchange->behind = program.commands[*last].channel;
    }
    exchange->transfer += seconds;
    exchange->queued += event.begin - replicaNow;
    // Behind the one whose bytes came before, if streams overlap.
    if (schedule.isCritical[index])
      exchange->critical +=
          event.end -
          std::max(event.begin, event.cause == SimulatedEvent::noCause
                                    ? 0
                                    : events[event.cause].end);
  }

  void addWait(const SimulatedEvent &event) {
    ExchangeTimes *exchange = event.cause == SimulatedEvent::noCause
                                  ? nullptr
                                  : find(events[event.cause].command);
    if (!exchange || event.lane != replicaLane)
      return;
    exchange->exposed += event.end - event.begin;
  }

  ProgramInfo &program;
  SimulatedSchedule &schedule;
  const std::vector<SimulatedEvent> &events;
  /// By lane.
  std::map<size_t, std::optional<uint32_t>> lastOfStream;
  /// Collectives by the commands that start them.
  std::map<uint32_t, size_t> indices;
  /// Of each command, the end of its last execution so far.
  std::map<uint32_t, double> ends;
  /// Collectives, by their indices, whose results are not yet needed.
  std::vector<size_t> pending;
  double replicaNow = 0;
};

void addCriticalLines(const ProgramInfo &program, SimulatedSchedule &schedule) {
  std::map<std::string, CriticalLine> lines;
  for (size_t i = 0; i < schedule.result.events.size(); ++i) {
    const SimulatedEvent &event = schedule.result.events[i];
    if (!schedule.isCritical[i] || event.kind != SimulatedEvent::Kind::kernel)
      continue;
    const std::string &location = program.commands[event.command].line;
    CriticalLine &line = lines[location];
    line.location = location;
    line.seconds += event.end - event.begin;
    ++line.executions;
  }
  for (auto &[location, line] : lines)
    schedule.criticalLines.push_back(std::move(line));
  std::sort(schedule.criticalLines.begin(), schedule.criticalLines.end(),
            [](const CriticalLine &a, const CriticalLine &b) {
              return std::tie(b.seconds, a.location) <
                     std::tie(a.seconds, b.location);
            });
}

/// Simulates the program with other devices and links. The kernels and buckets
/// remain those of the artifact.
class AlternativeSimulator {
public:
  AlternativeSimulator(const Artifact &artifact,
                       const SimulationOptions &options,
                       std::vector<Alternative> &results)
      : artifact(artifact), options(options), results(results) {}

  void run(const Topology &topology) {
    Topology changed = topology;
    changed.compute.flopsPerSecond *= 2;
    changed.compute.bytesPerSecond *= 2;
    changed.compute.launchSeconds /= 2;
    add("kernels twice as fast", changed);
    changed = topology;
    for (runtime::TopologyLevel &level : changed.levels)
      level.link.secondsPerByte /= 2;
    add("twice the bandwidth or half the bytes", changed);
    changed = topology;
    for (runtime::TopologyLevel &level : changed.levels)
      level.link.latency /= 2;
    add("half the latency", changed);
    for (const char *name : Topology::presets())
      if (Expected<Topology> preset = Topology::preset(name);
          preset && preset->name != topology.name)
        add(fmt::format("on '{}'", name), *preset, /*isTopology=*/true);
  }

private:
  void add(const std::string &name, const Topology &topology,
           bool isTopology = false) {
    Expected<SimulationResult> result = simulate(artifact, topology, options);
    if (result)
      results.push_back({name, isTopology, result->seconds, result->compute,
                         result->communication, result->exposed});
  }

  const Artifact &artifact;
  const SimulationOptions &options;
  std::vector<Alternative> &results;
};

} // namespace

void simulateProgram(const Artifact &artifact, ProgramInfo &program) {
  SimulatedSchedule &schedule = program.simulated;
  Expected<Topology> topology = storedTopology(artifact);
  if (!topology) {
    schedule.refusal = topology.status().message();
    return;
  }
  schedule.topology = topology->name;
  schedule.reducesOnCompute = topology->reducesOnCompute;
  // An inspection does not execute long loops.
  SimulationOptions options;
  options.program = program.name;
  options.maxCommands = 2'000'000;
  options.maxEvents = 100'000;
  Expected<SimulationResult> result = simulate(artifact, *topology, options);
  if (!result) {
    schedule.refusal = result.status().message();
    return;
  }
  schedule.result = std::move(*result);
  ExchangeCollector(program).run();
  addCriticalLines(program, schedule);
  AlternativeSimulator(artifact, options, schedule.alternatives).run(*topology);
}

} // namespace lockstep::inspect

//===- Calibration.cpp ----------------------------------------------------===//

#include "tools/lockstep-benchmark/Calibration.h"

#include "runtime/model/CostModel.h"
#include "runtime/schema/KernelTiles.h"
#include "runtime/simulator/Simulator.h"
#include "tools/lockstep-benchmark/RateFit.h"
#include "tools/support/Table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>

namespace lockstep::tools {

using runtime::Expected;
using runtime::SharedCores;
using runtime::sharesTiles;
using runtime::SimulationResult;
using runtime::Topology;

/// More digits say nothing about the next measurement.
static double rounded(double value) {
  return std::stod(fmt::format("{:.3g}", value));
}

/// The kernels that a program of the artifact launches.
static StepSample sampleOf(const ArtifactTimes &times,
                           const Topology &machine) {
  StepSample sample;
  sample.replicas = times.kernels.replicas;
  SharedCores cores(machine, sample.replicas);
  const artifact::Artifact &tables = times.artifact->tables();
  std::map<std::pair<uint32_t, bool>, double> launches;
  for (const artifact::Program *program : *tables.programs()) {
    uint32_t endOfOnce = 0;
    for (uint32_t i = 0; i < program->commands()->size(); ++i) {
      const artifact::Command *command = program->commands()->Get(i);
      if (const artifact::Once *once = command->body_as_Once())
        endOfOnce = once->end();
      if (const artifact::Launch *launch = command->body_as_Launch())
        ++launches[{launch->kernel(), i < endOfOnce}];
    }
  }
  for (auto &[key, count] : launches) {
    auto [index, isOnce] = key;
    std::optional<double> seconds = times.kernels.seconds[index];
    if (!seconds || *seconds <= 0)
      continue;
    const artifact::Kernel &kernel = *tables.kernels()->Get(index);
    KernelSample &added = sample.kernels.emplace_back();
    added.flops = kernel.flops();
    added.bytes = kernel.bytes();
    added.shape = {.tiles = sharesTiles(kernel) ? kernel.grid() : 1,
                   .isOnce = isOnce};
    added.launches = count;
    added.seconds = *seconds * cores.coresPerKernel(added.shape);
  }
  return sample;
}

Expected<Calibration> Calibration::measure(CalibrationOptions options) {
  Calibration result;
  result.machine = Machine::here();
  Topology &topology = result.topology;
  topology.name = options.name;
  topology.reducesOnCompute = true;
  topology.cores = result.machine.cores;
  topology.cacheBytes = result.machine.cacheBytes;

  // Artifacts first: their errors should not take long.
  for (const std::string &path : options.artifacts) {
    Expected<ArtifactTimes> times = measureArtifact(path);
    if (!times)
      return times.status();
    result.artifacts.push_back(std::move(*times));
  }
  for (auto [value, cores] : {std::pair{&result.oneCoreMemory, 1U},
                              {&result.allCoresMemory, result.machine.cores}}) {
    Expected<double> memory = measureMemory(cores);
    if (!memory)
      return memory.status();
    *value = *memory;
  }
  topology.memoryBytesPerSecond = rounded(result.allCoresMemory);

  std::vector<StepSample> samples;
  for (const ArtifactTimes &times : result.artifacts)
    samples.push_back(sampleOf(times, topology));
  fitRates(samples, topology);
  for (double *rate :
       {&topology.compute.flopsPerSecond, &topology.compute.bytesPerSecond,
        &topology.compute.launchSeconds, &topology.cacheBytesPerSecond})
    *rate = rounded(*rate);

  Expected<double> step = measureStep(result.machine.cores);
  if (!step)
    return step.status();
  result.stepSeconds = *step;
  topology.stepSeconds = rounded(*step);
  Expected<std::vector<CollectiveTime>> collectives =
      measureCollectives(options.replicas, *step);
  if (!collectives)
    return collectives.status();
  result.collectives = std::move(*collectives);
  CollectiveRates found = fitCollectives(result.collectives);
  // A latency of 0 is no valid topology, and a bandwidth without bound neither.
  constexpr double leastLatency = 1e-9, leastPerByte = 1e-15;
  topology.levels = {
      {.name = "memory",
       .link = {.latency = rounded(std::max(found.latency, leastLatency)),
                .secondsPerByte =
                    1 / rounded(1 / std::max(found.perByte, leastPerByte))}}};
  topology.rendezvousSeconds = rounded(found.perReplica);
  return result;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static std::string rateText(double perSecond, const char *unit) {
  return fmt::format("{:.3g} G{}/s", perSecond * 1e-9, unit);
}

static std::string ratioText(double measured, double simulated) {
  return simulated > 0 ? fmt::format("{:.2f}", measured / simulated) : "";
}

std::string Calibration::toText() const {
  std::string text = fmt::format(
      "{}, {} core{}, {} of cache each\n", machine.cpu, machine.cores,
      machine.cores == 1 ? "" : "s", bytesText(machine.cacheBytes));
  auto line = [&](const char *name, const std::string &value) {
    text += fmt::format("  {:<15}{}\n", name, value);
  };
  line("operations", rateText(topology.compute.flopsPerSecond, "flop") +
                         " by kernels on one core");
  line("bytes", fmt::format("{} by kernels on one core, {} in its cache",
                            rateText(topology.compute.bytesPerSecond, "B"),
                            rateText(topology.cacheBytesPerSecond, "B")));
  line("launch",
       fmt::format("{:.0f} ns", topology.compute.launchSeconds * 1e9));
  line("memory", fmt::format("{} copied by one core, {} by all",
                             rateText(oneCoreMemory, "B"),
                             rateText(allCoresMemory, "B")));
  line("step", secondsText(stepSeconds) + " without commands");
  line("collective",
       fmt::format(
           "{} and {} for each replica, {}",
           secondsText(topology.levels.front().link.latency),
           secondsText(topology.rendezvousSeconds),
           rateText(1 / topology.levels.front().link.secondsPerByte, "B")));

  text += "\nsteps\n";
  Table steps({">measured", ">simulated", ">ratio", ">by profile", ">ratio",
               ">replicas", "artifact"});
  for (const ArtifactTimes &times : artifacts) {
    std::vector<std::string> cells = {secondsText(times.stepSeconds)};
    for (const runtime::KernelProfile *profile :
         {static_cast<const runtime::KernelProfile *>(nullptr),
          &times.kernels}) {
      Expected<SimulationResult> simulated =
          simulate(*times.artifact, topology, {.profile = profile});
      cells.push_back(simulated ? secondsText(simulated->seconds) : "");
      cells.push_back(
          simulated ? ratioText(times.stepSeconds, simulated->seconds) : "");
    }
    cells.push_back(fmt::format("{}", times.artifact->tables().replicas()));
    cells.push_back(times.path);
    steps.add(std::move(cells));
  }
  text += steps.text();

  text += "\ncollectives\n";
  Table table({">measured", ">simulated", ">ratio", ">replicas", ">bytes"});
  for (const CollectiveTime &time : collectives) {
    double simulated = runtime::collectiveSeconds(
        topology, artifact::CollectiveKind::all_reduce, time.replicas,
        time.bytes);
    table.add({secondsText(time.seconds), secondsText(simulated),
               ratioText(time.seconds, simulated),
               fmt::format("{}", time.replicas), bytesText(time.bytes)});
  }
  return text + table.text();
}

std::string Calibration::toJson() const {
  auto written = nlohmann::json::parse(topology.toJson());
  nlohmann::ordered_json object;
  // In the order in which the documentation explains them.
  for (const char *key :
       {"name", "compute", "reduces_on_compute", "cores", "cache_bytes",
        "cache_bytes_per_second", "memory_bytes_per_second",
        "rendezvous_seconds", "step_seconds", "algorithm", "levels"})
    if (written.contains(key))
      object[key] = written[key];
  object["sources"] = {"measured by lockstep-benchmark --calibrate on " +
                       machine.cpu};
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

} // namespace lockstep::tools

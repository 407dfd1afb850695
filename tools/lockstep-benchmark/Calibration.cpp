//===- Calibration.cpp ----------------------------------------------------===//

#include "tools/lockstep-benchmark/Calibration.h"

#include "runtime/device/Device.h"
#include "runtime/model/CostModel.h"
#include "runtime/schema/KernelTiles.h"
#include "runtime/simulator/Simulator.h"
#include "runtime/transport/TransportFactory.h"
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
using runtime::Status;
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

/// Before anything is measured.
Status CalibrationOptions::check(const runtime::Device &device) {
  std::shared_ptr<runtime::TransportFactory> transport;
  LOCKSTEP_RETURN_IF_ERROR(
      runtime::openTransport(placement.transport).moveTo(transport));
  if (uint32_t devices = device.info().devices;
      placement.isSeparate && devices > 0) {
    std::erase_if(replicas, [&](uint32_t count) { return count > devices; });
    if (replicas.empty())
      return runtime::invalidArgument(fmt::format(
          "expected a device for each replica of a collective, found {} on "
          "this machine",
          devices));
  }
  for (const std::string &path : artifacts) {
    auto artifact = runtime::Artifact::open(path);
    if (!artifact)
      return artifact.status();
    if (uint32_t count = (*artifact)->tables().replicas();
        count != 1 && (placement.isSeparate || !device.isHost()))
      return runtime::invalidArgument(fmt::format(
          "{}: expected an artifact of one replica, whose kernels have {} for "
          "themselves, found {} replicas",
          path, placement.isSeparate ? "a device" : "the device", count));
  }
  return Status::success();
}

Status Calibration::measureMachine(runtime::Device &device, double effort) {
  if (!device.isHost())
    return measureMemory(device).moveTo(allCoresMemory);
  double oneCore = 0;
  LOCKSTEP_RETURN_IF_ERROR(measureMemory(1U, effort).moveTo(oneCore));
  oneCoreMemory = oneCore;
  return measureMemory(machine.cores, effort).moveTo(allCoresMemory);
}

/// A latency of 0 is no valid topology, and a bandwidth without bound neither.
static runtime::TopologyLevel makeLevel(std::string name, double latency,
                                        double perByte) {
  constexpr double leastLatency = 1e-9, leastPerByte = 1e-15;
  return {.name = std::move(name),
          .link = {.latency = rounded(std::max(latency, leastLatency)),
                   .secondsPerByte =
                       1 / rounded(1 / std::max(perByte, leastPerByte))}};
}

Expected<Calibration> Calibration::measure(CalibrationOptions options) {
  const Placement &placement = options.placement;
  std::shared_ptr<runtime::Device> device;
  LOCKSTEP_RETURN_IF_ERROR(
      runtime::openDevice(placement.device).moveTo(device));
  Calibration result;
  result.machine = Machine::of(*device);
  Topology &topology = result.topology;
  topology.name = options.name;
  topology.reducesOnCompute = !placement.isSeparate;
  // With a device of its own, a replica has a model without cores and caches.
  if (!placement.isSeparate) {
    topology.cores = result.machine.cores;
    topology.cacheBytes = result.machine.cacheBytes;
  }
  LOCKSTEP_RETURN_IF_ERROR(options.check(*device));

  // Artifacts first: their errors should not take long.
  for (const std::string &path : options.artifacts) {
    Expected<ArtifactTimes> times =
        measureArtifact(path, placement.device, options.effort);
    if (!times)
      return times.status();
    result.artifacts.push_back(std::move(*times));
  }
  LOCKSTEP_RETURN_IF_ERROR(result.measureMachine(*device, options.effort));
  if (!placement.isSeparate)
    topology.memoryBytesPerSecond = rounded(result.allCoresMemory);

  std::vector<StepSample> samples;
  for (const ArtifactTimes &times : result.artifacts)
    samples.push_back(sampleOf(times, topology));
  fitRates(samples, topology);
  for (double *rate :
       {&topology.compute.flopsPerSecond, &topology.compute.bytesPerSecond,
        &topology.compute.launchSeconds, &topology.cacheBytesPerSecond})
    *rate = rounded(*rate);

  Placement together = placement;
  together.isSeparate = false;
  LOCKSTEP_RETURN_IF_ERROR(
      measureStep(result.machine.cores, together, options.effort)
          .moveTo(result.stepSeconds));
  topology.stepSeconds = rounded(result.stepSeconds);
  LOCKSTEP_RETURN_IF_ERROR(measureCollectives(options.replicas,
                                              result.stepSeconds, placement,
                                              options.effort)
                               .moveTo(result.collectives));
  if (placement.isSeparate) {
    runtime::Link link = fitLink(result.collectives);
    topology.levels = {
        makeLevel("executors", link.latency, link.secondsPerByte)};
    return result;
  }
  CollectiveRates found = fitCollectives(result.collectives);
  topology.levels = {makeLevel("memory", found.latency, found.perByte)};
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
  // A device is one core.
  const char *onOneCore = oneCoreMemory ? " on one core" : "";
  std::string text =
      oneCoreMemory
          ? fmt::format("{}, {} core{}, {} of cache each\n", machine.name,
                        machine.cores, machine.cores == 1 ? "" : "s",
                        bytesText(machine.cacheBytes))
          : fmt::format("{}, {} of cache\n", machine.name,
                        bytesText(machine.cacheBytes));
  auto line = [&](const char *name, const std::string &value) {
    text += fmt::format("  {:<15}{}\n", name, value);
  };
  line("operations", rateText(topology.compute.flopsPerSecond, "flop") +
                         " by kernels" + onOneCore);
  line(
      "bytes",
      fmt::format("{} by kernels{}{}",
                  rateText(topology.compute.bytesPerSecond, "B"), onOneCore,
                  topology.reducesOnCompute
                      ? fmt::format(", {} in its cache",
                                    rateText(topology.cacheBytesPerSecond, "B"))
                      : ""));
  line("launch",
       fmt::format("{:.0f} ns", topology.compute.launchSeconds * 1e9));
  line("memory", oneCoreMemory ? fmt::format("{} copied by one core, {} by all",
                                             rateText(*oneCoreMemory, "B"),
                                             rateText(allCoresMemory, "B"))
                               : rateText(allCoresMemory, "B") + " copied");
  line("step", secondsText(stepSeconds) + " without commands");
  const runtime::Link &link = topology.levels.front().link;
  line(topology.reducesOnCompute ? "collective" : "message",
       fmt::format("{}{}, {}", secondsText(link.latency),
                   topology.reducesOnCompute
                       ? fmt::format(" and {} for each replica",
                                     secondsText(topology.rendezvousSeconds))
                       : "",
                   rateText(1 / link.secondsPerByte, "B")));

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
                       machine.name};
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

} // namespace lockstep::tools

//===- Calibration.h - a topology of this machine ---------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_CALIBRATION_H
#define LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_CALIBRATION_H

#include "runtime/model/Topology.h"
#include "tools/lockstep-benchmark/ArtifactTimes.h"
#include "tools/lockstep-benchmark/CollectiveTimes.h"
#include "tools/lockstep-benchmark/MachineTimes.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::tools {

struct CalibrationOptions {
  /// The name of the topology.
  std::string name = "calibrated";
  /// Artifacts whose kernels are measured; at least one.
  std::vector<std::string> artifacts;
  /// The numbers of replicas whose collectives are measured.
  std::vector<uint32_t> replicas = {2, 4, 8};
  /// Where kernels, and collectives, are executed. With devices of their own
  /// (`isSeparate`), and on devices with queues, where kernels of several
  /// replicas overlap, artifacts have one replica.
  Placement placement;
  /// How long each measurement takes, relative to one that is accurate: for
  /// tests.
  double effort = 1;

  /// Leaves out numbers of replicas for which there are not enough devices.
  /// Errors: no such transport, an artifact of several replicas where it must
  /// have one, no device for each replica.
  runtime::Status check(const runtime::Device &device);
};

/// What has been measured, and the topology that explains it.
struct Calibration {
  Machine machine;
  double stepSeconds = 0, allCoresMemory = 0;
  /// None on a device that is one core.
  std::optional<double> oneCoreMemory;
  std::vector<ArtifactTimes> artifacts;
  std::vector<CollectiveTime> collectives;
  runtime::Topology topology;

  /// Takes some seconds, in which the machine should have nothing else to do.
  /// Errors: those of `measureArtifact`, no such device or transport, out of
  /// memory.
  static runtime::Expected<Calibration> measure(CalibrationOptions options);

  /// Tables of what has been measured, beside what the topology says.
  std::string toText() const;
  /// The topology as a file, with its sources.
  std::string toJson() const;

private:
  runtime::Status measureMachine(runtime::Device &device, double effort);
};

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_CALIBRATION_H

//===- Topology.h - what devices and links a step runs on -------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_MODEL_TOPOLOGY_H
#define LOCKSTEP_RUNTIME_MODEL_TOPOLOGY_H

#include "runtime/collectives/CollectiveCost.h"
#include "runtime/support/Status.h"

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

/// How fast the device of one replica executes kernels.
struct ComputeRates {
  double flopsPerSecond = 0;
  /// To and from memory.
  double bytesPerSecond = 0;
  /// Seconds for a kernel that does nothing.
  double launchSeconds = 0;
};

/// Replicas, or groups of replicas, that are connected with each other.
struct TopologyLevel {
  std::string name;
  /// How many replicas, or groups of the level before; 0: any number.
  uint64_t size = 0;
  /// Of each replica to those of the other groups.
  Link link;
};

/// How the members of a collective exchange messages.
enum class ExchangeAlgorithm : uint8_t {
  /// Each with each other directly, as Lockstep's own transports do: on a host,
  /// and then between hosts.
  direct,
  /// Along a ring or up and down a tree, whichever is faster for the size, and
  /// pipelined through the levels, as NCCL does.
  ringOrTree,
};

/// The most streams of a link: each has a lane in reports.
inline constexpr uint64_t kMaxStreams = 64;

/// Devices and links, as far as the schedule of a step depends on them.
struct Topology {
  std::string name;
  ComputeRates compute;
  /// Reductions are executed by the cores that execute kernels: a collective
  /// cannot be hidden behind kernels.
  bool reducesOnCompute = false;
  /// With `reducesOnCompute`, the cores that all replicas share; else, each has
  /// a device of its own.
  uint64_t cores = 1;
  /// The cache of one core: what has just been reduced is read from it if the
  /// bucket fits.
  uint64_t cacheBytes = 0;
  /// To and from the cache of one core, by kernels whose tensors fit into it;
  /// 0: as to memory.
  double cacheBytesPerSecond = 0;
  /// To and from memory, by all cores together.
  double memoryBytesPerSecond = std::numeric_limits<double>::infinity();
  /// What each replica adds to the time of a collective, a barrier or a `once`
  /// section, in which it arrives and is resumed.
  double rendezvousSeconds = 0;
  /// The time of a step without commands: the cores are woken up.
  double stepSeconds = 0;
  ExchangeAlgorithm algorithm = ExchangeAlgorithm::direct;
  /// Without `reducesOnCompute`, how many collectives the link carries at once
  /// (LinkTimeline.h): from 1 to `kMaxStreams`.
  uint64_t streams = 1;
  /// From the nearest replicas to the farthest; not empty.
  std::vector<TopologyLevel> levels;

  /// Reads the JSON form (docs/schedules.md). Errors name the key: unknown or
  /// missing keys, numbers that are not positive, more than `kMaxStreams`, a
  /// level without a size before the last one, more than two levels with
  /// `direct` [invalidArgument].
  static Expected<Topology> parse(std::string_view json);
  /// The JSON form, which `parse` reads back.
  std::string toJson() const;

  /// One of the topologies that come with Lockstep. Error: another name.
  static Expected<Topology> preset(std::string_view name);
  static std::span<const char *const> presets();
  /// A preset by name, or else a JSON file by path. Errors: those of `parse`,
  /// and a file that cannot be read.
  static Expected<Topology> load(const std::string &nameOrPath);
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_MODEL_TOPOLOGY_H

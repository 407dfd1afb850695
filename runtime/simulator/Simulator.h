//===- Simulator.h - executes programs against a cost model -----*- C++ -*-===//
//
// Executes the commands of an artifact's program for any number of replicas
// without data: kernels and collectives take the time that the cost model
// gives them. Replicas that behave alike are simulated once.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_SIMULATOR_SIMULATOR_H
#define LOCKSTEP_RUNTIME_SIMULATOR_SIMULATOR_H

#include "runtime/artifact/Artifact.h"
#include "runtime/model/Topology.h"
#include "runtime/simulator/KernelProfile.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// One replica may differ from the others.
struct SimulationOptions {
  /// Empty: the program "step", or the only one.
  std::string program = {};
  /// 0: as many as the artifact has been compiled for. Kernels are those of the
  /// artifact for any number.
  uint64_t replicas = 0;
  /// Seconds by which one replica begins later than the others.
  double delay = 0;
  /// How many times as long the kernels of one replica take.
  double slowdown = 1;
  /// Measured times of kernels, instead of those of the cost model; not owned.
  const KernelProfile *profile = nullptr;
  /// One replica stops before it starts this channel.
  std::optional<uint32_t> failingChannel = {};
  /// A program that executes more commands, or more kernels and collectives, is
  /// an error.
  uint64_t mostCommands = 100'000'000, mostEvents = 10'000'000;
};

/// What one replica, or the link, does for some time.
struct SimulatedEvent {
  enum class Kind : uint8_t { kernel, collective, wait };
  static constexpr size_t noCause = SIZE_MAX;

  Kind kind{};
  /// Seconds after the start of the program.
  double begin = 0, end = 0;
  /// Index of the command in the program.
  uint32_t command = 0;
  /// Index into `SimulationResult::lanes`.
  size_t lane = 0;
  /// The event whose end determined when this one began.
  size_t cause = noCause;
};

/// The time that one command contributes to the critical path.
struct CriticalPart {
  std::string name, location;
  double seconds = 0;
  uint64_t executions = 0;
};

struct SimulationResult {
  std::string program;
  uint64_t replicas = 0;
  /// From the start of the program until the last replica has finished.
  double seconds = 0;
  /// Kernels of the replica that has the most to do.
  double compute = 0;
  /// The time that the link is occupied.
  double communication = 0;
  /// The time that replicas wait for collectives, that of the one that waits
  /// longest; for a replica that is late or slow, too.
  double exposed = 0;
  /// The part of `communication` in which no replica waits for what is
  /// transferred.
  double hidden = 0;
  /// The bytes that each replica contributes to collectives.
  uint64_t exchangedBytes = 0;
  uint64_t kernels = 0, collectives = 0;
  /// Memory of one replica: temporaries, variables and constants.
  uint64_t memory = 0;
  /// In descending order of seconds.
  std::vector<CriticalPart> criticalPath;
  /// Places where data decide about control flow. Such conditions are taken to
  /// be true and false in turn.
  std::vector<std::string> assumptions;
  std::vector<std::string> lanes;
  std::vector<SimulatedEvent> events;
  /// What the run would report if a replica failed; empty if all finish.
  std::string failure;

  /// The least possible time for these kernels and collectives: the kernels
  /// alone, or the link alone.
  double leastSeconds() const { return std::max(compute, communication); }
};

/// Simulates one execution of a program. Errors: a program or a failing channel
/// that does not exist, several roles, collectives of some replicas only,
/// options that are not finite, a profile of another artifact, an endless loop.
Expected<SimulationResult> simulate(const Artifact &artifact,
                                    const Topology &topology,
                                    const SimulationOptions &options = {});

/// The name of a command: a kernel's symbol, "all_reduce sum channel 3".
std::string simulatedName(const artifact::Artifact &artifact,
                          const artifact::Program &program, uint32_t command);

/// Writes events as a Chrome trace with the fields of `lockstep-run --trace`,
/// a lane for each kind of replica and one for the link.
/// Error: the file cannot be written.
Status writeSimulatedTrace(const std::string &path, const Artifact &artifact,
                           const SimulationResult &result);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SIMULATOR_SIMULATOR_H

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

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// What to simulate. `delay`, `slowdown` and `failingChannel` apply to one
/// replica, the last one; the others behave alike.
struct SimulationOptions {
  /// The name of the program. If it is empty, the program "step" is simulated,
  /// or the artifact's only program.
  std::string program = {};
  /// The number of replicas; 0: that for which the artifact was compiled. The
  /// kernels are those of the artifact in any case.
  uint64_t replicas = 0;
  /// Seconds by which the replica begins later than the others; at least 0.
  double delay = 0;
  /// The factor by which its kernels take longer; positive.
  double slowdown = 1;
  /// Measured times of kernels, instead of those of the cost model; not owned.
  const KernelProfile *profile = nullptr;
  /// The replica stops before it starts a collective on this channel.
  std::optional<uint32_t> failingChannel = {};
  /// How many collectives the link carries at once (LinkTimeline.h); 0: as the
  /// topology says.
  uint64_t streams = 0;
  /// The simulation fails if the program executes more commands, or results in
  /// more events.
  uint64_t maxCommands = 100'000'000, maxEvents = 10'000'000;
};

/// An interval in which replicas that behave alike execute a kernel or a copy,
/// or wait, or in which the link transfers the data of a collective.
struct SimulatedEvent {
  /// A copy is a `kernel`; a barrier or a `once` section is a `collective`.
  enum class Kind : uint8_t { kernel, collective, wait };
  static constexpr size_t noCause = SIZE_MAX;

  Kind kind{};
  /// Seconds after the start of the program.
  double begin = 0, end = 0;
  /// Index of the command in the program.
  uint32_t command = 0;
  /// Index into `SimulationResult::lanes`.
  size_t lane = 0;
  /// Index into `SimulationResult::events` of the event whose end determined
  /// when this one began, or `noCause`.
  size_t cause = noCause;
};

/// A row of the timeline.
struct SimulatedLane {
  std::string name;
  /// How many replicas behave like this; 0: it is the link, or a stream of it.
  uint64_t replicas = 0;
};

/// The time that one command contributes to the critical path.
struct CriticalCommand {
  /// The name as in `simulatedName`, and the user's line ("model.py:42").
  std::string name, location;
  /// The sum over all executions on the critical path, and their number.
  double seconds = 0;
  uint64_t executions = 0;
};

/// The result of a simulation. All times are in seconds.
struct SimulationResult {
  std::string program;
  uint64_t replicas = 0;
  /// From the start of the program until the last replica has finished.
  double seconds = 0;
  /// The time that a replica spends in kernels and copies, for the replica that
  /// spends most.
  double compute = 0;
  /// The time that the link is occupied.
  double communication = 0;
  /// The time that a replica waits in collectives, for the replica that waits
  /// longest. It includes waiting for a replica that arrives late.
  double exposed = 0;
  /// The part of `communication` in which no replica waits for the data that
  /// are transferred.
  double hidden = 0;
  /// The bytes that each replica contributes to collectives; those of
  /// reductions in the type in which they are accumulated.
  uint64_t exchangedBytes = 0;
  /// The kernels that one replica launches, and the collectives.
  uint64_t kernels = 0, collectives = 0;
  /// Bytes of one replica: temporaries, inputs, variables and constants.
  uint64_t memory = 0;
  /// In descending order of seconds.
  std::vector<CriticalCommand> criticalPath;
  /// The locations of branches whose conditions depend on data. Each condition
  /// is assumed to be true and false alternately.
  std::vector<std::string> assumptions;
  /// One for all replicas that behave alike, or two if one replica differs from
  /// the others; then the link, or one for each of its streams.
  std::vector<SimulatedLane> lanes;
  std::vector<SimulatedEvent> events;
  /// Which replica stops, and where the others then wait for it; empty if all
  /// finish.
  std::string failure;

  /// The time of the link alone, in any order: with one stream,
  /// `communication`.
  double leastCommunication = 0;
  /// A lower bound of the time for these kernels and collectives: that of the
  /// kernels alone or of the link alone, whichever is longer.
  double leastSeconds() const { return std::max(compute, leastCommunication); }
};

/// Simulates one execution of a program. Errors: a program or a failing channel
/// that does not exist, several roles, a collective that not all replicas are
/// members of, a delay or slowdown out of range, more streams than
/// `kMaxStreams`, a profile of another artifact, more commands or events than
/// `options` allow.
Expected<SimulationResult> simulate(const Artifact &artifact,
                                    const Topology &topology,
                                    const SimulationOptions &options = {});

/// The name of a lane of the link, of which there is one for each stream.
std::string linkLaneName(uint64_t stream, uint64_t streams);
/// Whether a lane of this name is one of the link.
bool isLinkLane(std::string_view name);

/// The name of a command in events and reports: the symbol of a kernel, or for
/// example "all_reduce sum channel 3".
std::string simulatedName(const artifact::Artifact &artifact,
                          const artifact::Program &program, uint32_t command);

/// Writes events as a Chrome trace with the fields of `lockstep-run --trace`,
/// with the lanes of `result`. Error: the file cannot be written.
Status writeSimulatedTrace(const std::string &path, const Artifact &artifact,
                           const SimulationResult &result);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SIMULATOR_SIMULATOR_H

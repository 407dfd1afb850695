//===- Simulation.h - one execution of a program ----------------*- C++ -*-===//
//
// The engine behind `simulate`.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_SIMULATOR_SIMULATION_H
#define LOCKSTEP_RUNTIME_SIMULATOR_SIMULATION_H

#include "runtime/collectives/LinkTimeline.h"
#include "runtime/model/SharedCores.h"
#include "runtime/simulator/Simulator.h"

#include <limits>
#include <map>
#include <set>
#include <span>

namespace lockstep::runtime {

/// The channel that a command starts.
std::optional<uint32_t> startedChannel(const artifact::Command &command);

/// The program to simulate: by name, or for an empty name, "step" or the only
/// one. Error: there is none.
Expected<const artifact::Program *>
findSimulated(const artifact::Artifact &tables, const std::string &name);

/// The commands that determine when the event `last` ends, in descending order
/// of their time: its causes, and theirs.
std::vector<CriticalCommand>
criticalPath(const Artifact &artifact, const artifact::Program &program,
             std::span<const SimulatedEvent> events, size_t last);

/// Classes of replicas execute commands until one needs what another has not
/// yet started. Nothing is computed.
class Simulation {
public:
  Simulation(const Artifact &artifact, const artifact::Program &program,
             const Topology &topology, const SimulationOptions &options);

  /// To be called once. Error: the program seems not to end.
  Expected<SimulationResult> run();

private:
  /// What all replicas that behave alike have done so far.
  struct ReplicaClass {
    uint64_t count = 0;
    double slowdown = 1;
    bool fails = false;

    uint32_t command = 0;
    double now = 0;
    /// The event whose end is `now`.
    size_t last = SimulatedEvent::noCause;
    bool isDone = false, hasFailed = false;
    /// `uncovered`: the part of the waiting during which the link transfers
    /// what is waited for.
    double compute = 0, waited = 0, uncovered = 0;
    std::vector<std::optional<int64_t>> registers = {};
    /// How often data have decided at a command.
    std::map<uint32_t, uint64_t> decisions = {};
    /// The instances of each channel that the class has started.
    std::vector<uint64_t> started = {};
  };

  /// One execution of a collective, a barrier or a `once`.
  struct Instance {
    /// The classes that have arrived, and the last arrival.
    size_t arrived = 0;
    double arrival = 0;
    size_t arrivalCause = SimulatedEvent::noCause;
    bool isTransferred = false;
    double begin = 0, end = 0;
    size_t event = SimulatedEvent::noCause;
  };

  void createClasses();
  /// That of the first stream.
  size_t linkLane() const { return classes.size(); }
  /// Executes one command of a class. Returns false if it has to wait for
  /// another class.
  bool step(size_t classIndex);
  /// The outcome of a condition on data.
  bool decide(ReplicaClass &self);
  void launch(size_t classIndex, const artifact::Launch &launch);
  void copy(size_t classIndex, const artifact::Copy &copy);
  /// Adds work of a class.
  void execute(size_t classIndex, double seconds);
  bool isInOnce(uint32_t command) const;
  /// Adds an event of a class that begins when the previous one has ended.
  void record(size_t classIndex, SimulatedEvent::Kind kind, double seconds,
              size_t cause);

  Instance &instanceOf(uint32_t channel, uint64_t number);
  /// A class starts the next instance of a channel. The link is occupied when
  /// all have.
  void arrive(size_t classIndex, uint32_t channel);
  bool isCollective(uint32_t command) const;
  /// Arrives at a barrier, and waits for all others.
  bool joinBarrier(size_t classIndex, uint32_t channel);
  /// Waits for the instance that the class has started last.
  bool waitFor(size_t classIndex, uint32_t channel);
  void waitUntil(size_t classIndex, const Instance &instance);
  /// Of a collective or a rendezvous.
  TransferSeconds transferSeconds(uint32_t index);
  uint64_t accumulatedBytes(uint32_t buffer, bool isReduction) const;

  void finish();
  void describeFailure();

  const Artifact &artifact;
  const artifact::Artifact &tables;
  const artifact::Program &program;
  const Topology &topology;
  const SimulationOptions &options;
  uint64_t replicas;
  /// Of the simulated replicas, and of those in the profile's trace.
  SharedCores cores, profiledCores;
  std::vector<ReplicaClass> classes;
  /// For each channel, its executions so far.
  std::vector<std::vector<Instance>> instances;
  /// Classes and commands at which they have arrived, and wait.
  std::set<std::pair<size_t, uint32_t>> joined;
  LinkTimeline link;
  /// The events of what the link has carried, and the sums of its seconds.
  std::vector<size_t> transfers;
  TransferSeconds transferred;
  double leastLatency = std::numeric_limits<double>::infinity();
  /// The commands of `once` sections, in ascending order.
  std::vector<std::pair<uint32_t, uint32_t>> onceRanges;
  uint64_t executed = 0;
  SimulationResult result;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SIMULATOR_SIMULATION_H

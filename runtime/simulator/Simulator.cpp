//===- Simulator.cpp ------------------------------------------------------===//

#include "runtime/simulator/Simulator.h"

#include "runtime/model/CostModel.h"
#include "runtime/schema/RoleInfo.h"
#include "runtime/schema/Types.h"
#include "runtime/support/TraceFile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace lockstep::runtime {

namespace {

using artifact::CommandBody;

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
  /// `uncovered`: the part of the waiting during which the link transfers what
  /// is waited for.
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

/// The channel that a command starts.
std::optional<uint32_t> startedChannel(const artifact::Command &command) {
  if (const artifact::Start *start = command.body_as_Start())
    return start->channel();
  if (const artifact::Barrier *barrier = command.body_as_Barrier())
    return barrier->channel();
  if (const artifact::Once *once = command.body_as_Once())
    return once->channel();
  return std::nullopt;
}

class Simulation {
public:
  Simulation(const Artifact &artifact, const artifact::Program &program,
             const Topology &topology, const SimulationOptions &options)
      : artifact(artifact), tables(artifact.tables()), program(program),
        topology(topology), options(options),
        replicas(options.replicas ? options.replicas : tables.replicas()) {
    for (uint32_t i = 0; i < program.commands()->size(); ++i)
      if (const artifact::Once *once =
              program.commands()->Get(i)->body_as_Once())
        onceRanges.push_back({i, once->end()});
  }

  Expected<SimulationResult> run() {
    createClasses();
    // A class executes commands until it needs what another has not yet
    // started.
    bool progress = true;
    while (progress) {
      progress = false;
      for (size_t c = 0; c < classes.size(); ++c)
        while (!classes[c].isDone && step(c)) {
          progress = true;
          if (++executed > options.mostCommands ||
              result.events.size() > options.mostEvents)
            return invalidArgument(fmt::format(
                "program '{}': more than {} commands, or {} kernels and "
                "collectives: expected a loop to end",
                program.name()->string_view(), options.mostCommands,
                options.mostEvents));
        }
    }
    finish();
    return std::move(result);
  }

private:
  void createClasses() {
    // Where an option makes one replica different, it is the last one.
    bool isOneDifferent =
        options.delay > 0 || options.slowdown != 1 || options.failingChannel;
    if (replicas > 1 || !isOneDifferent)
      classes.push_back({.count = replicas - (isOneDifferent ? 1 : 0)});
    if (isOneDifferent)
      classes.push_back({.count = 1,
                         .slowdown = options.slowdown,
                         .fails = options.failingChannel.has_value(),
                         .now = options.delay});
    for (ReplicaClass &each : classes) {
      each.registers.resize(program.registers());
      each.started.resize(program.channels());
    }
    result.program = program.name()->str();
    result.replicas = replicas;
    uint64_t first = 0;
    for (const ReplicaClass &each : classes) {
      result.lanes.push_back(each.count == 1
                                 ? fmt::format("replica {}", first)
                                 : fmt::format("replicas {} to {}", first,
                                               first + each.count - 1));
      first += each.count;
    }
    result.lanes.push_back("link");
    instances.resize(program.channels());
  }

  size_t linkLane() const { return classes.size(); }

  /// Executes one command of a class. Returns false if it has to wait for
  /// another class.
  bool step(size_t classIndex) {
    ReplicaClass &self = classes[classIndex];
    const artifact::Command &command = *program.commands()->Get(self.command);
    uint32_t next = self.command + 1;
    if (self.fails && startedChannel(command) == options.failingChannel) {
      self.isDone = self.hasFailed = true;
      return true;
    }
    switch (command.body_type()) {
    case CommandBody::Launch:
      launch(classIndex, *command.body_as_Launch());
      break;
    case CommandBody::Start:
      arrive(classIndex, command.body_as_Start()->channel());
      break;
    case CommandBody::Wait:
      if (!waitFor(classIndex, command.body_as_Wait()->channel()))
        return false;
      break;
    case CommandBody::Barrier:
      if (!joinBarrier(classIndex, command.body_as_Barrier()->channel()))
        return false;
      break;
    case CommandBody::Once:
      // Replicas of one process execute the section once, when all have
      // arrived; elsewhere each executes it by itself.
      if (topology.reducesOnCompute &&
          !joinBarrier(classIndex, command.body_as_Once()->channel()))
        return false;
      break;
    case CommandBody::Jump:
      next = command.body_as_Jump()->target();
      break;
    case CommandBody::BranchUnless:
      if (!decide(self))
        next = command.body_as_BranchUnless()->target();
      break;
    case CommandBody::BranchGreaterEqual: {
      const auto &branch = *command.body_as_BranchGreaterEqual();
      const auto &lhs = self.registers[branch.lhs()],
                 &rhs = self.registers[branch.rhs()];
      if (lhs && rhs ? *lhs >= *rhs : !decide(self))
        next = branch.target();
      break;
    }
    case CommandBody::SetRegister: {
      const auto &set = *command.body_as_SetRegister();
      self.registers[set.register_()] = set.value();
      break;
    }
    case CommandBody::AddRegister: {
      const auto &add = *command.body_as_AddRegister();
      auto &sum = self.registers[add.register_()];
      const auto &source = self.registers[add.source()];
      if (sum && source)
        sum = static_cast<int64_t>(uint64_t(*sum) + uint64_t(*source));
      else
        sum = std::nullopt;
      break;
    }
    case CommandBody::LoadRegister:
      self.registers[command.body_as_LoadRegister()->register_()] =
          std::nullopt;
      break;
    case CommandBody::Copy:
      execute(
          classIndex,
          2 * program.buffers()->Get(command.body_as_Copy()->source())->size() /
              topology.compute.bytesPerSecond,
          /*tiles=*/1);
      break;
    case CommandBody::Return:
      self.isDone = true;
      break;
    case CommandBody::EndOnce:
    case CommandBody::Next:
    case CommandBody::NONE:
      break;
    }
    self.command = next;
    return true;
  }

  /// The outcome of a condition on data.
  bool decide(ReplicaClass &self) {
    uint64_t count = self.decisions[self.command]++;
    if (count == 0 && &self == &classes[0]) {
      std::string_view place =
          artifact.location(program.commands()->Get(self.command)->location());
      result.assumptions.push_back(place.empty()
                                       ? fmt::format("command {}", self.command)
                                       : std::string(place));
    }
    return count % 2 == 0;
  }

  void launch(size_t classIndex, const artifact::Launch &launch) {
    const artifact::Kernel &kernel = *tables.kernels()->Get(launch.kernel());
    execute(classIndex,
            kernelSeconds(topology.compute, kernel.flops(), kernel.bytes()),
            kernel.grid());
    if (classIndex == 0)
      ++result.kernels;
  }

  /// Adds work of `seconds` on one core, or on the replica's own device.
  void execute(size_t classIndex, double seconds, uint32_t tiles) {
    ReplicaClass &self = classes[classIndex];
    seconds *= self.slowdown;
    if (topology.reducesOnCompute)
      seconds *= shareOfCores(tiles, isInOnce(self.command));
    record(classIndex, SimulatedEvent::Kind::kernel, seconds, self.last);
    self.compute += seconds;
  }

  /// Replicas share the cores; those that are left execute tiles.
  double shareOfCores(uint32_t tiles, bool isOnce) const {
    double cores = double(topology.cores), busy = isOnce ? 1 : double(replicas);
    if (busy >= cores)
      return busy / cores;
    return 1 / std::min(double(tiles), cores / busy);
  }

  bool isInOnce(uint32_t command) const {
    auto after = std::upper_bound(
        onceRanges.begin(), onceRanges.end(), command,
        [](uint32_t c, const auto &range) { return c < range.first; });
    return after != onceRanges.begin() && command < std::prev(after)->second;
  }

  /// Adds an event of a class that begins when the previous one has ended.
  void record(size_t classIndex, SimulatedEvent::Kind kind, double seconds,
              size_t cause) {
    ReplicaClass &self = classes[classIndex];
    result.events.push_back({.kind = kind,
                             .begin = self.now,
                             .end = self.now + seconds,
                             .command = self.command,
                             .lane = classIndex,
                             .cause = cause});
    self.now += seconds;
    self.last = result.events.size() - 1;
  }

  Instance &instanceOf(uint32_t channel, uint64_t number) {
    std::vector<Instance> &all = instances[channel];
    if (all.size() <= number)
      all.resize(number + 1);
    return all[number];
  }

  /// A class starts the next instance of a channel. The link is occupied when
  /// all have.
  void arrive(size_t classIndex, uint32_t channel) {
    ReplicaClass &self = classes[classIndex];
    Instance &instance = instanceOf(channel, self.started[channel]++);
    if (instance.arrived++ == 0 || self.now > instance.arrival) {
      instance.arrival = self.now;
      instance.arrivalCause = self.last;
    }
    if (instance.arrived < classes.size())
      return;
    double seconds = transferSeconds(self.command);
    bool isFree = linkFree <= instance.arrival;
    double begin = std::max(instance.arrival, linkFree);
    instance.isTransferred = true;
    instance.begin = begin;
    instance.end = begin + seconds;
    instance.event = result.events.size();
    result.events.push_back(
        {.kind = SimulatedEvent::Kind::collective,
         .begin = begin,
         .end = instance.end,
         .command = self.command,
         .lane = linkLane(),
         .cause = isFree ? instance.arrivalCause : lastTransfer});
    linkFree = instance.end;
    lastTransfer = instance.event;
    result.communication += seconds;
    if (isCollective(self.command))
      ++result.collectives;
    // Reductions in the process take the cores from the kernels.
    if (topology.reducesOnCompute)
      for (size_t c = 0; c < classes.size(); ++c)
        waitUntil(c, instance);
  }

  bool isCollective(uint32_t command) const {
    return program.commands()->Get(command)->body_type() == CommandBody::Start;
  }

  /// Arrives at a barrier, and waits for all others.
  bool joinBarrier(size_t classIndex, uint32_t channel) {
    std::pair<size_t, uint32_t> place = {classIndex,
                                         classes[classIndex].command};
    if (joined.insert(place).second)
      arrive(classIndex, channel);
    if (!waitFor(classIndex, channel))
      return false;
    joined.erase(place);
    return true;
  }

  /// Waits for the instance that the class has started last.
  bool waitFor(size_t classIndex, uint32_t channel) {
    const Instance &instance =
        instanceOf(channel, classes[classIndex].started[channel] - 1);
    if (instance.isTransferred)
      waitUntil(classIndex, instance);
    return instance.isTransferred;
  }

  void waitUntil(size_t classIndex, const Instance &instance) {
    ReplicaClass &self = classes[classIndex];
    if (instance.end <= self.now)
      return;
    self.waited += instance.end - self.now;
    self.uncovered += instance.end - std::max(self.now, instance.begin);
    record(classIndex, SimulatedEvent::Kind::wait, instance.end - self.now,
           instance.event);
  }

  double transferSeconds(uint32_t index) {
    const artifact::Command &command = *program.commands()->Get(index);
    if (const artifact::Start *start = command.body_as_Start()) {
      uint64_t bytes = 0;
      const CollectiveProperties &kind =
          CollectiveProperties::of(start->kind());
      for (uint32_t buffer : elements(start->operands()))
        bytes += accumulatedBytes(buffer, kind.isReduction);
      result.exchangedBytes += bytes;
      return collectiveSeconds(topology, start->kind(), replicas, bytes);
    }
    if (command.body_as_Barrier())
      return collectiveSeconds(topology, artifact::CollectiveKind::all_reduce,
                               replicas, 0);
    // A `once` section: replicas of the process arrive.
    return topology.levels.front().link.latency;
  }

  uint64_t accumulatedBytes(uint32_t buffer, bool isReduction) const {
    const artifact::Buffer &table = *program.buffers()->Get(buffer);
    if (!isReduction || !table.type())
      return table.size();
    return table.size() / elementSize(table.type()->element()) *
           accumulatorSize(table.type()->element());
  }

  static std::vector<uint32_t>
  elements(const flatbuffers::Vector<uint32_t> *vector) {
    return vector ? std::vector<uint32_t>(vector->begin(), vector->end())
                  : std::vector<uint32_t>();
  }

  void finish() {
    size_t last = SimulatedEvent::noCause;
    double uncovered = 0;
    for (const ReplicaClass &each : classes) {
      if (each.now >= result.seconds) {
        result.seconds = each.now;
        last = each.last;
      }
      result.compute = std::max(result.compute, each.compute);
      result.exposed = std::max(result.exposed, each.waited);
      uncovered = std::max(uncovered, each.uncovered);
    }
    result.hidden = std::max(0.0, result.communication - uncovered);
    RoleInfo role = rolesOf(tables).front();
    result.memory = program.replica_size() + program.shared_size() +
                    program.input_size() + role.variableSize +
                    role.replicaVariableSize;
    if (tables.constants() >= 0)
      result.memory += artifact.segment(uint32_t(tables.constants())).size();
    for (const ReplicaClass &each : classes)
      if (each.hasFailed)
        describeFailure();
    collectCriticalPath(last);
  }

  void describeFailure() {
    result.failure = result.lanes[classes.size() - 1] + " stops";
    const ReplicaClass &waiting = classes[0];
    if (classes.size() == 1 || waiting.isDone)
      return;
    std::string_view place =
        artifact.location(program.commands()->Get(waiting.command)->location());
    result.failure +=
        fmt::format("; {} {} for it at {}{}", result.lanes[0],
                    waiting.count == 1 ? "waits" : "wait",
                    simulatedName(tables, program, waiting.command),
                    place.empty() ? "" : fmt::format(" ({})", place));
  }

  /// Follows the causes back from the last event.
  void collectCriticalPath(size_t event) {
    std::map<uint32_t, CriticalPart> parts;
    while (event != SimulatedEvent::noCause) {
      const SimulatedEvent &each = result.events[event];
      if (each.kind != SimulatedEvent::Kind::wait) {
        CriticalPart &part = parts[each.command];
        part.seconds += each.end - each.begin;
        ++part.executions;
      }
      event = each.cause;
    }
    for (auto &[command, part] : parts) {
      part.name = simulatedName(tables, program, command);
      part.location =
          artifact.location(program.commands()->Get(command)->location());
      result.criticalPath.push_back(std::move(part));
    }
    std::sort(result.criticalPath.begin(), result.criticalPath.end(),
              [](const CriticalPart &a, const CriticalPart &b) {
                return std::tie(b.seconds, a.name) <
                       std::tie(a.seconds, b.name);
              });
  }

  const Artifact &artifact;
  const artifact::Artifact &tables;
  const artifact::Program &program;
  const Topology &topology;
  const SimulationOptions &options;
  uint64_t replicas;
  std::vector<ReplicaClass> classes;
  /// For each channel, its executions so far.
  std::vector<std::vector<Instance>> instances;
  /// Classes and commands at which they have arrived, and wait.
  std::set<std::pair<size_t, uint32_t>> joined;
  double linkFree = 0;
  size_t lastTransfer = SimulatedEvent::noCause;
  /// The commands of `once` sections, in ascending order.
  std::vector<std::pair<uint32_t, uint32_t>> onceRanges;
  uint64_t executed = 0;
  SimulationResult result;
};

} // namespace

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

static Expected<const artifact::Program *>
findProgram(const artifact::Artifact &tables, const std::string &name) {
  std::vector<std::string_view> names;
  for (const artifact::Program *program : *tables.programs()) {
    names.push_back(program->name()->string_view());
    if (names.back() == (name.empty() ? "step" : name))
      return program;
  }
  if (name.empty() && names.size() == 1)
    return tables.programs()->Get(0);
  return invalidArgument(fmt::format("program '{}': expected one of {}",
                                     name.empty() ? "step" : name,
                                     fmt::join(names, ", ")));
}

/// Collectives are of all replicas, and the one at which a replica is to fail
/// exists.
static Status checkChannels(const artifact::Artifact &tables,
                            const artifact::Program &program,
                            const SimulationOptions &options) {
  bool failingExists = !options.failingChannel;
  auto checkGroup = [&](uint32_t index) {
    const artifact::Group &group = *tables.groups()->Get(index);
    size_t ranks = group.ranks() ? group.ranks()->size() : 0;
    return ranks == 0 || ranks == tables.replicas()
               ? Status::success()
               : unsupported(fmt::format(
                     "group '{}' has {} of {} replicas: only collectives of "
                     "all replicas can be simulated",
                     group.name()->string_view(), ranks, tables.replicas()));
  };
  for (const artifact::Command *command : *program.commands()) {
    std::optional<uint32_t> channel = startedChannel(*command);
    failingExists |= channel && channel == options.failingChannel;
    Status status;
    if (const artifact::Start *start = command->body_as_Start())
      status = checkGroup(start->group());
    else if (const artifact::Barrier *barrier = command->body_as_Barrier())
      status = checkGroup(barrier->group());
    if (!status.ok())
      return status;
  }
  if (!failingExists)
    return invalidArgument(fmt::format(
        "channel {}: expected one that program '{}' starts, which has {}",
        *options.failingChannel, program.name()->string_view(),
        program.channels()));
  return Status::success();
}

Expected<SimulationResult> simulate(const Artifact &artifact,
                                    const Topology &topology,
                                    const SimulationOptions &options) {
  const artifact::Artifact &tables = artifact.tables();
  if (tables.roles() && tables.roles()->size() > 1)
    return unsupported("programs of several roles cannot be simulated");
  if (!tables.programs() || tables.programs()->size() == 0)
    return invalidArgument("the artifact has no program");
  if (!std::isfinite(options.delay) || options.delay < 0 ||
      !std::isfinite(options.slowdown) || options.slowdown <= 0)
    return invalidArgument(fmt::format(
        "expected a delay of at least 0 s and a positive factor of a slow "
        "replica, found {} and {}",
        options.delay, options.slowdown));
  Expected<const artifact::Program *> program =
      findProgram(tables, options.program);
  if (!program)
    return program.status();
  if (Status status = checkChannels(tables, **program, options); !status.ok())
    return status;
  return Simulation(artifact, **program, topology, options).run();
}

Status writeSimulatedTrace(const std::string &path, const Artifact &artifact,
                           const SimulationResult &result) {
  const artifact::Artifact &tables = artifact.tables();
  Expected<const artifact::Program *> program =
      findProgram(tables, result.program);
  if (!program)
    return program.status();
  TraceFile file;
  file.nameProcess(0, "simulation");
  for (size_t lane = 0; lane < result.lanes.size(); ++lane)
    file.nameThread(0, lane, result.lanes[lane]);
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

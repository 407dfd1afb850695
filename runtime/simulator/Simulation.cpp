//===- Simulation.cpp -----------------------------------------------------===//

#include "runtime/simulator/Simulation.h"

#include "runtime/model/CostModel.h"
#include "runtime/schema/KernelTiles.h"
#include "runtime/schema/RoleInfo.h"
#include "runtime/schema/Types.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::runtime {

using artifact::CommandBody;

std::optional<uint32_t> startedChannel(const artifact::Command &command) {
  if (const artifact::Start *start = command.body_as_Start())
    return start->channel();
  if (const artifact::Barrier *barrier = command.body_as_Barrier())
    return barrier->channel();
  if (const artifact::Once *once = command.body_as_Once())
    return once->channel();
  return std::nullopt;
}

static std::vector<uint32_t>
toVector(const flatbuffers::Vector<uint32_t> *vector) {
  return vector ? std::vector<uint32_t>(vector->begin(), vector->end())
                : std::vector<uint32_t>();
}

Simulation::Simulation(const Artifact &artifact,
                       const artifact::Program &program,
                       const Topology &topology,
                       const SimulationOptions &options)
    : artifact(artifact), tables(artifact.tables()), program(program),
      topology(topology), options(options),
      replicas(options.replicas ? options.replicas : tables.replicas()),
      cores(topology, replicas),
      profiledCores(topology, options.profile ? options.profile->replicas : 1) {
  for (uint32_t i = 0; i < program.commands()->size(); ++i)
    if (const artifact::Once *once = program.commands()->Get(i)->body_as_Once())
      onceRanges.push_back({i, once->end()});
}

Expected<SimulationResult> Simulation::run() {
  createClasses();
  // Each class executes commands until it waits for a collective that another
  // class has not started. The simulation ends when no class can continue: all
  // have returned, or the others wait for the replica that fails.
  bool progress = true;
  while (progress) {
    progress = false;
    for (size_t c = 0; c < classes.size(); ++c)
      while (!classes[c].isDone && step(c)) {
        progress = true;
        if (++executed > options.maxCommands ||
            result.events.size() > options.maxEvents)
          return invalidArgument(fmt::format(
              "program '{}': more than {} commands, or {} kernels and "
              "collectives: expected a loop to end",
              program.name()->string_view(), options.maxCommands,
              options.maxEvents));
      }
  }
  finish();
  return std::move(result);
}

void Simulation::createClasses() {
  // If the options make one replica different, it is the last one.
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
  // The cores of the host are woken up before they execute any command.
  if (topology.reducesOnCompute)
    for (ReplicaClass &each : classes)
      each.now += topology.stepSeconds;
  result.program = program.name()->str();
  result.replicas = replicas;
  uint64_t first = 0;
  for (const ReplicaClass &each : classes) {
    result.lanes.push_back(
        {each.count == 1
             ? fmt::format("replica {}", first)
             : fmt::format("replicas {} to {}", first, first + each.count - 1),
         each.count});
    first += each.count;
  }
  uint64_t streams = options.streams ? options.streams : topology.streams;
  link = LinkTimeline(streams);
  for (uint64_t i = 0; i < streams; ++i)
    result.lanes.push_back({linkLaneName(i, streams)});
  instances.resize(program.channels());
}

bool Simulation::step(size_t classIndex) {
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
    self.registers[command.body_as_LoadRegister()->register_()] = std::nullopt;
    break;
  case CommandBody::Copy:
    copy(classIndex, *command.body_as_Copy());
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

bool Simulation::decide(ReplicaClass &self) {
  // The data are not known: the condition of a command is true and false
  // alternately.
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

void Simulation::launch(size_t classIndex, const artifact::Launch &launch) {
  const artifact::Kernel &kernel = *tables.kernels()->Get(launch.kernel());
  KernelShape shape = {.tiles = sharesTiles(kernel) ? kernel.grid() : 1,
                       .isOnce = isInOnce(classes[classIndex].command)};
  bool isOnCores = topology.reducesOnCompute;
  // The time on one core of the host or, if kernels do not run on the host, on
  // the replica's own device.
  double seconds = 0;
  if (std::optional<double> profiled =
          options.profile ? options.profile->seconds[launch.kernel()]
                          : std::nullopt)
    seconds = *profiled * (isOnCores ? profiledCores.coresPerKernel(shape) : 1);
  else
    seconds = kernelSeconds(isOnCores ? cores.rates(shape, kernel.bytes())
                                      : topology.compute,
                            kernel.flops(), kernel.bytes());
  execute(classIndex, seconds * (isOnCores ? cores.share(shape) : 1));
  if (classIndex == 0)
    ++result.kernels;
}

void Simulation::copy(size_t classIndex, const artifact::Copy &copy) {
  // Each byte is read and written.
  double seconds = 2 * double(program.buffers()->Get(copy.source())->size()) /
                   topology.compute.bytesPerSecond;
  // On the host, a copy is executed like a kernel: with the same overhead of a
  // launch, and by cores that replicas share.
  if (topology.reducesOnCompute)
    seconds = (seconds + topology.compute.launchSeconds) *
              cores.share({.isOnce = isInOnce(classes[classIndex].command)});
  execute(classIndex, seconds);
}

void Simulation::execute(size_t classIndex, double seconds) {
  ReplicaClass &self = classes[classIndex];
  seconds *= self.slowdown;
  record(classIndex, SimulatedEvent::Kind::kernel, seconds, self.last);
  self.compute += seconds;
}

bool Simulation::isInOnce(uint32_t command) const {
  auto after = std::upper_bound(
      onceRanges.begin(), onceRanges.end(), command,
      [](uint32_t c, const auto &range) { return c < range.first; });
  return after != onceRanges.begin() && command < std::prev(after)->second;
}

void Simulation::record(size_t classIndex, SimulatedEvent::Kind kind,
                        double seconds, size_t cause) {
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

Simulation::Instance &Simulation::instanceOf(uint32_t channel,
                                             uint64_t number) {
  std::vector<Instance> &all = instances[channel];
  if (all.size() <= number)
    all.resize(number + 1);
  return all[number];
}

void Simulation::arrive(size_t classIndex, uint32_t channel) {
  ReplicaClass &self = classes[classIndex];
  Instance &instance = instanceOf(channel, self.started[channel]++);
  if (instance.arrived++ == 0 || self.now > instance.arrival) {
    instance.arrival = self.now;
    instance.arrivalCause = self.last;
  }
  if (instance.arrived < classes.size())
    return;
  double before = link.getEnd();
  TransferSeconds seconds = transferSeconds(self.command);
  LinkTimeline::Transfer transfer = link.carry(instance.arrival, seconds);
  leastLatency = std::min(leastLatency, seconds.latency);
  transferred.latency += seconds.latency;
  transferred.bytes += seconds.bytes;
  instance.isTransferred = true;
  instance.begin = transfer.begin;
  instance.end = transfer.end;
  instance.event = result.events.size();
  result.events.push_back({.kind = SimulatedEvent::Kind::collective,
                           .begin = transfer.begin,
                           .end = transfer.end,
                           .command = self.command,
                           .lane = linkLane() + transfer.stream,
                           .cause = transfer.waitedFor == LinkTimeline::none
                                        ? instance.arrivalCause
                                        : transfers[transfer.waitedFor]});
  transfers.push_back(instance.event);
  // The time in which any stream is occupied: transfers end in the order in
  // which they begin.
  result.communication += transfer.end - std::max(transfer.begin, before);
  if (isCollective(self.command))
    ++result.collectives;
  // On the host, reductions need the cores on which kernels run, so that no
  // class continues before the collective has ended.
  if (topology.reducesOnCompute)
    for (size_t c = 0; c < classes.size(); ++c)
      waitUntil(c, instance);
}

bool Simulation::isCollective(uint32_t command) const {
  return program.commands()->Get(command)->body_type() == CommandBody::Start;
}

bool Simulation::joinBarrier(size_t classIndex, uint32_t channel) {
  std::pair<size_t, uint32_t> place = {classIndex, classes[classIndex].command};
  if (joined.insert(place).second)
    arrive(classIndex, channel);
  if (!waitFor(classIndex, channel))
    return false;
  joined.erase(place);
  return true;
}

bool Simulation::waitFor(size_t classIndex, uint32_t channel) {
  const Instance &instance =
      instanceOf(channel, classes[classIndex].started[channel] - 1);
  if (instance.isTransferred)
    waitUntil(classIndex, instance);
  return instance.isTransferred;
}

void Simulation::waitUntil(size_t classIndex, const Instance &instance) {
  ReplicaClass &self = classes[classIndex];
  if (instance.end <= self.now)
    return;
  self.waited += instance.end - self.now;
  self.uncovered += instance.end - std::max(self.now, instance.begin);
  record(classIndex, SimulatedEvent::Kind::wait, instance.end - self.now,
         instance.event);
}

TransferSeconds Simulation::transferSeconds(uint32_t index) {
  const artifact::Command &command = *program.commands()->Get(index);
  // A barrier, or the arrival at a `once` section, exchanges no data: it takes
  // as long as an all_reduce of no bytes.
  const artifact::Start *start = command.body_as_Start();
  artifact::CollectiveKind kind =
      start ? start->kind() : artifact::CollectiveKind::all_reduce;
  uint64_t bytes = 0;
  if (start)
    for (uint32_t buffer : toVector(start->operands()))
      bytes +=
          accumulatedBytes(buffer, CollectiveProperties::of(kind).isReduction);
  result.exchangedBytes += bytes;
  return TransferSeconds::split(
      collectiveSeconds(topology, kind, replicas, bytes),
      collectiveSeconds(topology, kind, replicas, 0));
}

uint64_t Simulation::accumulatedBytes(uint32_t buffer, bool isReduction) const {
  const artifact::Buffer &table = *program.buffers()->Get(buffer);
  if (!isReduction || !table.type())
    return table.size();
  return table.size() / elementSize(table.type()->element()) *
         accumulatorSize(table.type()->element());
}

void Simulation::finish() {
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
  // Each occupies a stream, and the bytes of one after the other the link.
  result.leastCommunication =
      link.getStreams() == 1 || transfers.empty()
          ? result.communication
          : std::max(leastLatency + transferred.bytes,
                     (transferred.latency + transferred.bytes) /
                         double(link.getStreams()));
  RoleInfo role = rolesOf(tables).front();
  result.memory = program.replica_size() + program.shared_size() +
                  program.input_size() + role.variableSize +
                  role.replicaVariableSize;
  if (tables.constants() >= 0)
    result.memory += artifact.segment(uint32_t(tables.constants())).size();
  for (const ReplicaClass &each : classes)
    if (each.hasFailed)
      describeFailure();
  result.criticalPath = criticalPath(artifact, program, result.events, last);
}

void Simulation::describeFailure() {
  result.failure = result.lanes[classes.size() - 1].name + " stops";
  const ReplicaClass &waiting = classes[0];
  if (classes.size() == 1 || waiting.isDone)
    return;
  std::string_view place =
      artifact.location(program.commands()->Get(waiting.command)->location());
  result.failure +=
      fmt::format("; {} {} for it at {}{}", result.lanes[0].name,
                  waiting.count == 1 ? "waits" : "wait",
                  simulatedName(tables, program, waiting.command),
                  place.empty() ? "" : fmt::format(" ({})", place));
}

} // namespace lockstep::runtime

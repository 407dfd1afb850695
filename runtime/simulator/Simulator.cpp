//===- Simulator.cpp ------------------------------------------------------===//

#include "runtime/simulator/Simulator.h"

#include "runtime/simulator/Simulation.h"

#include <fmt/format.h>

#include <cmath>

namespace lockstep::runtime {

Expected<const artifact::Program *>
findSimulated(const artifact::Artifact &tables, const std::string &name) {
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

/// The parts of variables that are divided among the replicas have the size for
/// one number of them.
static Status checkReplicas(const artifact::Artifact &tables,
                            uint64_t replicas) {
  if (replicas == 0 || replicas == tables.replicas() || !tables.variables())
    return Status::success();
  for (const artifact::Variable *variable : *tables.variables())
    if (variable->whole_shape())
      return unsupported(fmt::format(
          "variable '{}' is divided among {} replicas: expected that number, "
          "found {}; compile for it, or with --shard-update=off",
          variable->shard() ? variable->shard()->of()->string_view()
                            : variable->name()->string_view(),
          tables.replicas(), replicas));
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
  if (options.streams > kMaxStreams)
    return invalidArgument(fmt::format("expected at most {} streams, found {}",
                                       kMaxStreams, options.streams));
  Expected<const artifact::Program *> program =
      findSimulated(tables, options.program);
  if (!program)
    return program.status();
  if (options.profile && options.profile->seconds.size() !=
                             (tables.kernels() ? tables.kernels()->size() : 0))
    return invalidArgument("expected a profile of this artifact's kernels");
  LOCKSTEP_RETURN_IF_ERROR(checkReplicas(tables, options.replicas));
  if (Status status = checkChannels(tables, **program, options); !status.ok())
    return status;
  return Simulation(artifact, **program, topology, options).run();
}

} // namespace lockstep::runtime

//===- CollectiveTimes.cpp ------------------------------------------------===//

#include "tools/lockstep-benchmark/CollectiveTimes.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/ArtifactWriter.h"
#include "runtime/executor/Cluster.h"
#include "runtime/transport/TransportFactory.h"
#include "tools/lockstep-benchmark/Timing.h"

#include <algorithm>

namespace lockstep::tools {

using namespace lockstep::artifact;
using runtime::Cluster;
using runtime::Expected;

namespace {

/// A program without kernels, command by command.
class CollectiveProgram {
public:
  explicit CollectiveProgram(uint32_t replicas) {
    ArtifactT &tables = writer.tables;
    tables.name = "calibration";
    tables.replicas = replicas;
    tables.locations = {""};
    tables.groups.push_back(std::make_unique<GroupT>());
    tables.groups.back()->name = "all";
    tables.programs.push_back(std::make_unique<ProgramT>());
    program = tables.programs.back().get();
    program->name = "step";
    program->role = "worker";
  }

  /// An all_reduce, and the wait for it.
  void allReduce(uint32_t operand, uint32_t result) {
    StartT start;
    start.kind = CollectiveKind::all_reduce;
    start.reduction = Reduction::sum;
    start.channel = program->channels++;
    start.operands = {operand};
    start.results = {result};
    WaitT wait;
    wait.channel = start.channel;
    add(std::move(start));
    add(std::move(wait));
  }

  uint32_t addBuffer(Space space, uint64_t bytes) {
    auto buffer = std::make_unique<BufferT>();
    buffer->space = space;
    buffer->size = bytes;
    buffer->type = std::make_unique<TensorTypeT>();
    buffer->type->element = ElementType::f32;
    buffer->type->shape = {int64_t(bytes / sizeof(float))};
    (space == Space::shared ? program->shared_size : program->replica_size) =
        bytes;
    program->buffers.push_back(std::move(buffer));
    return uint32_t(program->buffers.size() - 1);
  }

  Expected<std::unique_ptr<Cluster>> open(const Placement &placement) {
    add(ReturnT());
    Expected<std::vector<std::byte>> file = writer.finish();
    if (!file)
      return file.status();
    auto artifact = runtime::Artifact::fromMemory(*file);
    if (!artifact)
      return artifact.status();
    runtime::ClusterOptions options;
    options.session.device = placement.device;
    options.executors = placement.isSeparate ? writer.tables.replicas : 1;
    LOCKSTEP_RETURN_IF_ERROR(runtime::openTransport(placement.transport)
                                 .moveTo(options.session.transport));
    return Cluster::create(*artifact, std::move(options));
  }

private:
  template <typename Body> void add(Body body) {
    auto command = std::make_unique<CommandT>();
    command->body.Set(std::move(body));
    program->commands.push_back(std::move(command));
  }

  runtime::ArtifactWriter writer;
  ProgramT *program;
};

} // namespace

static Expected<double> secondsOfRun(CollectiveProgram program,
                                     const Placement &placement,
                                     double budget) {
  Expected<std::unique_ptr<Cluster>> cluster = program.open(placement);
  if (!cluster)
    return cluster.status();
  return secondsOf([&] { return (*cluster)->run(0u); }, budget);
}

Expected<double> measureStep(uint32_t replicas, const Placement &placement,
                             double effort) {
  const double budget = 0.2 * effort;
  return secondsOfRun(CollectiveProgram(replicas), placement, budget);
}

Expected<std::vector<CollectiveTime>>
measureCollectives(std::span<const uint32_t> replicas, double stepSeconds,
                   const Placement &placement, double effort) {
  const double budget = 0.2 * effort;
  constexpr int repetitions = 16;
  std::vector<CollectiveTime> times;
  for (uint32_t count : replicas) {
    // A step of several executors takes longer the more there are.
    if (placement.isSeparate)
      LOCKSTEP_RETURN_IF_ERROR(
          measureStep(count, placement, effort).moveTo(stepSeconds));
    for (uint64_t bytes : {uint64_t(4), uint64_t(4) << 10, uint64_t(64) << 10,
                           uint64_t(512) << 10, uint64_t(4) << 20}) {
      CollectiveProgram program(count);
      uint32_t operand = program.addBuffer(Space::replica, bytes),
               result = program.addBuffer(Space::shared, bytes);
      for (int i = 0; i < repetitions; ++i)
        program.allReduce(operand, result);
      Expected<double> seconds =
          secondsOfRun(std::move(program), placement, budget);
      if (!seconds)
        return seconds.status();
      times.push_back(
          {count, bytes, std::max(0.0, *seconds - stepSeconds) / repetitions});
    }
  }
  return times;
}

} // namespace lockstep::tools

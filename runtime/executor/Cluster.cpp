//===- Cluster.cpp --------------------------------------------------------===//

#include "runtime/executor/ClusterImpl.h"

#include "runtime/executor/Trace.h"

#include <fmt/format.h>

namespace lockstep::runtime {

std::optional<ReplicaPart> Cluster::Impl::partOf(ProgramId program,
                                                 unsigned replica) const {
  if (program >= programs.size() || replica >= tables().replicas())
    return std::nullopt;
  size_t executor = executorOf(replica);
  if (!executors[executor].isHere || !parts[program][executor])
    return std::nullopt;
  return ReplicaPart{sessions[executor].get(), *parts[program][executor],
                     replica - executors[executor].firstRank};
}

std::optional<ReplicaPart>
Cluster::Impl::partWithOutput(ProgramId program, unsigned output,
                              unsigned replica) const {
  if (program >= programs.size() ||
      output >= programs[program].outputs.size() ||
      replica >= tables().replicas())
    return std::nullopt;
  // All replicas have the same value.
  if (!programs[program].outputs[output].perReplica &&
      !executors[executorOf(replica)].isHere)
    replica = firstReplicaHere();
  return partOf(program, replica);
}

unsigned Cluster::Impl::firstReplicaHere() const {
  return std::ranges::find(executors, true, &ExecutorInfo::isHere)->firstRank;
}

Status Cluster::Impl::whyNoPart(ProgramId program, unsigned replica) const {
  if (program < programs.size() && replica < tables().replicas() &&
      !executors[executorOf(replica)].isHere)
    return invalidArgument(
        fmt::format("replica {} is executed in another process", replica));
  return invalidArgument(
      fmt::format("program {} or replica {} does not exist", program, replica));
}

ProgramParts Cluster::Impl::partsHere(ProgramId program) const {
  ProgramParts here;
  for (size_t i = 0; i < sessions.size(); ++i)
    if (sessions[i])
      here.push_back(parts[program][i]);
  return here;
}

/// A session compares the batches of its own replicas only; here all replicas
/// are compared, those of other processes included.
Status Cluster::Impl::checkBatches(ProgramId program) {
  if (!programs[program].loadsBatches)
    return Status::success();
  std::vector<size_t> counts = batchCounts[program];
  if (!isWhole())
    LOCKSTEP_RETURN_IF_ERROR(collectCounts(program, counts));
  for (unsigned replica = 0; replica < counts.size(); ++replica)
    if (counts[replica] != counts.front())
      return invalidArgument(fmt::format(
          "program '{}': replica {} has {} batches, but replica 0 has {}",
          programs[program].name, replica, counts[replica], counts.front()));
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Cluster
//===----------------------------------------------------------------------===//

Cluster::Cluster(std::unique_ptr<Impl> given) : impl(std::move(given)) {}

Cluster::~Cluster() {
  if (!impl->localSessions)
    return;
  if (!impl->traceFile.empty() && !impl->inCoordinator)
    (void)writeTrace();
  if (impl->localSessions->failed() && !impl->localSessions->leaveOrAbandon())
    keepUntilExit(std::move(impl));
}

Expected<std::unique_ptr<Cluster>>
Cluster::create(std::shared_ptr<const Artifact> artifact,
                ClusterOptions options) {
  auto impl = std::make_unique<Impl>();
  if (Status status = impl->initialize(std::move(artifact), std::move(options));
      !status.ok())
    return status;
  return std::unique_ptr<Cluster>(new Cluster(std::move(impl)));
}

const Artifact &Cluster::artifact() const { return *impl->artifact; }
unsigned Cluster::replicas() const { return impl->tables().replicas(); }
std::string_view Cluster::target() const {
  return impl->present.front()->target();
}
std::span<const ExecutorInfo> Cluster::executors() const {
  return impl->executors;
}
bool Cluster::isWhole() const { return impl->isWhole(); }
const ProcessPlace &Cluster::place() const { return impl->place; }
bool Cluster::hasReplica(unsigned replica) const {
  return replica < replicas() &&
         impl->executors[impl->executorOf(replica)].isHere;
}
RankRange Cluster::replicasHere() const {
  RankRange range{impl->firstReplicaHere(), 0};
  for (unsigned i = 0; i < impl->workerExecutors; ++i)
    if (impl->executors[i].isHere)
      range.count =
          impl->executors[i].firstRank + impl->executors[i].ranks - range.first;
  return range;
}
std::span<const VariableInfo> Cluster::variables() const {
  return impl->variables;
}
std::span<const ScalarInfo> Cluster::scalars() const {
  return impl->present.front()->scalars();
}
std::span<const ProgramInfo> Cluster::programs() const {
  return impl->programs;
}

unsigned Cluster::workers() const {
  unsigned count = 0;
  for (const ExecutorInfo &executor : impl->executors)
    count += executor.workers;
  return count;
}

std::optional<VariableValue> Cluster::variable(std::string_view name,
                                               unsigned replica) {
  auto whole =
      std::ranges::find(impl->places, name, [](const WholeVariable &variable) {
        return std::string_view(variable.info.name);
      });
  if (whole == impl->places.end() ||
      (whole->info.perReplica && replica >= replicas()))
    return std::nullopt;
  std::vector<VariableValue::Pieces> places;
  std::vector<HostCopy *> copies;
  for (const std::vector<WholeVariable::Part> &parts :
       impl->placesOf(*whole, replica)) {
    places.emplace_back();
    for (const WholeVariable::Part &part : parts) {
      VariablePlace place{impl->isHere(part) ? std::span<std::byte>()
                                             : impl->copyOf(part)};
      if (impl->isHere(part))
        place = impl->sessions[part.executor]->variablePlace(part.name,
                                                             part.replica);
      places.back().push_back(place.bytes.first(part.bytes));
      if (place.copy)
        copies.push_back(place.copy);
    }
  }
  return VariableValue(std::move(places), std::move(copies));
}

Status Cluster::setScalar(std::string_view name,
                          std::span<const std::byte> bytes) {
  for (Session *session : impl->present)
    LOCKSTEP_RETURN_IF_ERROR(session->setScalar(name, bytes));
  return Status::success();
}

Expected<ProgramId> Cluster::findProgram(std::string_view name) const {
  std::string known;
  for (ProgramId id = 0; id < impl->programs.size(); ++id) {
    if (impl->programs[id].name == name)
      return id;
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ",
                         impl->programs[id].name);
  }
  return invalidArgument(
      fmt::format("there is no program '{}': the artifact has {}", name,
                  known.empty() ? "none" : known));
}

Status Cluster::bindInput(ProgramId program, unsigned replica,
                          const std::byte *base) {
  std::optional<ReplicaPart> part = impl->partOf(program, replica);
  return part ? part->session->bindInput(part->program, part->replica, base)
              : impl->whyNoPart(program, replica);
}

Status Cluster::announceInput(ProgramId program, unsigned replica,
                              const std::byte *base) {
  std::optional<ReplicaPart> part = impl->partOf(program, replica);
  return part ? part->session->announceInput(part->program, part->replica, base)
              : impl->whyNoPart(program, replica);
}

Status Cluster::bindBatches(ProgramId program, unsigned replica,
                            std::vector<const std::byte *> batches) {
  std::optional<ReplicaPart> part = impl->partOf(program, replica);
  if (!part)
    return impl->whyNoPart(program, replica);
  auto count = static_cast<int64_t>(batches.size());
  LOCKSTEP_RETURN_IF_ERROR(part->session->bindBatches(
      part->program, part->replica, std::move(batches)));
  impl->batchCounts[program][replica] = static_cast<size_t>(count);
  // Servers get no batches, but execute as many iterations.
  for (const ScalarInfo &scalar : scalars())
    if (scalar.name == "num_batches")
      return setScalar(scalar.name, std::as_bytes(std::span(&count, 1)));
  return Status::success();
}

Status Cluster::run(ProgramId program) {
  if (program >= impl->programs.size())
    return invalidArgument(fmt::format("program {} does not exist among {}",
                                       program, impl->programs.size()));
  if (!impl->localSessions)
    return impl->present.front()->run(*impl->parts[program].front());
  if (Status ready = impl->checkBatches(program); !ready.ok())
    return impl->localSessions->cannotBegin(ready);
  LOCKSTEP_RETURN_IF_ERROR(impl->localSessions->run(impl->partsHere(program)));
  ++impl->runs;
  return Status::success();
}

Status Cluster::run(std::string_view program) {
  Expected<ProgramId> id = findProgram(program);
  return id ? run(*id) : id.status();
}

std::span<const std::byte> Cluster::output(ProgramId program, unsigned output,
                                           unsigned replica) const {
  if (auto remote = impl->remoteOutputs.find({program, output, replica});
      remote != impl->remoteOutputs.end())
    return std::as_bytes(std::span(remote->second.bytes));
  std::optional<ReplicaPart> part =
      impl->partWithOutput(program, output, replica);
  return part ? part->session->output(part->program, output, part->replica)
              : std::span<const std::byte>();
}

std::span<const std::byte> Cluster::output(ProgramId program,
                                           std::string_view name,
                                           unsigned replica) const {
  if (program >= impl->programs.size())
    return {};
  const std::vector<OutputInfo> &outputs = impl->programs[program].outputs;
  for (unsigned i = 0; i < outputs.size(); ++i)
    if (outputs[i].name == name)
      return output(program, i, replica);
  return {};
}

std::vector<int64_t> Cluster::outputShape(ProgramId program, unsigned output,
                                          unsigned replica) const {
  if (auto remote = impl->remoteOutputs.find({program, output, replica});
      remote != impl->remoteOutputs.end())
    return remote->second.shape;
  std::optional<ReplicaPart> part =
      impl->partWithOutput(program, output, replica);
  return part ? part->session->outputShape(part->program, output, part->replica)
              : std::vector<int64_t>();
}

RecordingInfo Cluster::recording(ProgramId program) const {
  if (program >= impl->parts.size())
    return {};
  for (uint32_t i = 0; i < impl->executors.size(); ++i)
    if (std::optional<ProgramId> part = impl->parts[program][i];
        part && impl->executors[i].isHere)
      return impl->sessions[i]->recording(*part);
  return {};
}

std::string Cluster::deviceNote() const {
  for (const Session *session : impl->present)
    if (std::string note = session->deviceNote(); !note.empty())
      return note;
  return "";
}

unsigned Cluster::idleWorkers() const {
  unsigned count = 0;
  for (Session *session : impl->present)
    count += session->idleWorkers();
  return count;
}

void Cluster::abort(const Status &reason) {
  if (impl->localSessions)
    impl->localSessions->fail(reason);
  else
    impl->present.front()->abort(reason);
}

bool Cluster::variablesRestored() const {
  return std::ranges::any_of(impl->present, &Session::variablesRestored);
}

bool Cluster::poisoned() const {
  return std::ranges::any_of(impl->present, &Session::poisoned);
}

bool Cluster::variablesIntact() const {
  return std::ranges::all_of(impl->present, &Session::variablesIntact);
}

const DeadlineReport &Cluster::deadlineReport() const {
  return impl->localSessions ? impl->localSessions->deadlineReport()
                             : impl->present.front()->deadlineReport();
}

void Cluster::leaveBehind() {
  if (impl->localSessions)
    impl->localSessions->abandon();
}

Cluster::ServerTraffic Cluster::serverTraffic() const {
  ServerTraffic traffic;
  for (uint32_t worker = 0; worker < impl->workerExecutors; ++worker)
    for (uint32_t server = impl->workerExecutors;
         server < impl->endpointOf.size(); ++server) {
      if (const auto &endpoint = impl->endpointOf[worker])
        traffic.toServers += endpoint->bytesSentTo(server);
      if (const auto &endpoint = impl->endpointOf[server])
        traffic.fromServers += endpoint->bytesSentTo(worker);
    }
  return traffic;
}

uint64_t Cluster::completedRuns() const {
  return impl->localSessions ? impl->runs
                             : impl->present.front()->completedRuns();
}

Status Cluster::writeTrace() const {
  if (!impl->localSessions)
    return impl->present.front()->writeTrace();
  if (impl->traceFile.empty())
    return invalidArgument(
        "no trace was asked for when the cluster was created");
  return writeTraces(impl->traceFile, traces());
}

std::vector<TraceProcess> Cluster::traces() const {
  std::vector<TraceProcess> processes;
  for (size_t i = 0; i < impl->sessions.size(); ++i) {
    const ExecutorInfo &executor = impl->executors[i];
    if (!executor.isHere)
      continue;
    std::string name = executor.role;
    if (executor.role == workerRole)
      name = executor.ranks == 1
                 ? fmt::format("replica {}", executor.firstRank)
                 : fmt::format("replicas {}-{}", executor.firstRank,
                               executor.firstRank + executor.ranks - 1);
    processes.push_back({std::move(name), impl->sessions[i]->trace()});
  }
  return processes;
}

} // namespace lockstep::runtime

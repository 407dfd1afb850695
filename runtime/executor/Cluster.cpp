//===- Cluster.cpp --------------------------------------------------------===//

#include "runtime/executor/Cluster.h"

#include "runtime/artifact/Roles.h"
#include "runtime/executor/Crew.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/Injection.h"
#include "runtime/executor/Trace.h"
#include "runtime/executor/WholeVariables.h"
#include "runtime/transport/local/LocalNetwork.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime {

namespace {

/// What `programs` of the cluster are in each executor.
using ProgramParts = std::vector<std::optional<ProgramId>>;

/// A replica where it is executed.
struct ReplicaPart {
  Session *session;
  ProgramId program;
  /// As the session counts.
  unsigned replica;
};

Status noReplica(ProgramId program, unsigned replica) {
  return invalidArgument(
      fmt::format("program {} or replica {} does not exist", program, replica));
}

/// The part `index` of `total` that is divided as evenly as possible, larger
/// parts first.
unsigned share(unsigned total, unsigned parts, unsigned index) {
  return total / parts + (index < total % parts);
}

} // namespace

class Cluster::Impl {
public:
  Status initialize(std::shared_ptr<const Artifact> given,
                    ClusterOptions options);

  void describeExecutors(unsigned executors);
  Status createSessions(const ClusterOptions &options);
  void describePrograms();
  Status checkBatches(ProgramId program) const;

  const artifact::Artifact &tables() const { return artifact->tables(); }
  /// The executor that has a rank; `executors.size()` if none has.
  size_t executorOf(unsigned rank) const {
    auto has = [&](const ExecutorInfo &executor) {
      return rank >= executor.firstRank &&
             rank - executor.firstRank < executor.ranks;
    };
    return size_t(std::find_if(executors.begin(), executors.end(), has) -
                  executors.begin());
  }
  /// A replica's part of a program; nothing if one of them does not exist, or
  /// if the program is not for replicas.
  std::optional<ReplicaPart> partOf(ProgramId program, unsigned replica) const;

  std::shared_ptr<const Artifact> artifact;
  std::string traceFile;
  bool inCoordinator = false;
  unsigned workerExecutors = 1;
  std::vector<ExecutorInfo> executors;
  std::vector<std::unique_ptr<Session>> sessions;

  std::vector<VariableInfo> variables;
  std::vector<WholeVariable> places;
  std::vector<ProgramInfo> programs;
  std::vector<ProgramParts> parts;
  /// Batches that each replica has been given, of programs that load them.
  std::vector<std::vector<size_t>> batchCounts;
  uint64_t runs = 0;
  /// Each executor's; empty with one, which sends nothing.
  std::vector<std::shared_ptr<Network>> endpointOf;
  /// Both null with one executor, which needs nobody to run it.
  std::shared_ptr<Network> network;
  std::unique_ptr<Crew> crew;
};

Status Cluster::Impl::initialize(std::shared_ptr<const Artifact> given,
                                 ClusterOptions options) {
  artifact = std::move(given);
  traceFile = options.session.traceFile;
  inCoordinator = options.inCoordinator;
  if (options.executors == 0 || options.executors > tables().replicas())
    return invalidArgument(fmt::format(
        "expected 1 to {} executors, at most one for each replica, found {}",
        tables().replicas(), options.executors));
  workerExecutors = options.executors;
  describeExecutors(options.executors);
  LOCKSTEP_RETURN_IF_ERROR(createSessions(options));
  places = wholeVariables(*artifact, executors, sessions);
  for (const WholeVariable &place : places)
    variables.push_back(place.info);
  describePrograms();
  if (sessions.size() == 1)
    return Status::success();
  std::vector<Session *> members;
  Crew::Options crewOptions{
      options.session.deadline,
      options.session.clock ? options.session.clock : &Clock::system(),
      options.session.onDeadline, options.session.onLongWait, 0};
  for (const std::unique_ptr<Session> &session : sessions) {
    members.push_back(session.get());
    crewOptions.workers += session->workers() * options.session.clusters;
  }
  crew = std::make_unique<Crew>(std::move(members), *network,
                                std::move(crewOptions));
  return crew->status();
}

void Cluster::Impl::describeExecutors(unsigned count) {
  unsigned rank = 0;
  for (unsigned i = 0; i < count; ++i) {
    unsigned ranks = share(tables().replicas(), count, i);
    executors.push_back({std::string(workerRole), rank, ranks, 0});
    rank += ranks;
  }
  if (tables().roles())
    for (const artifact::Role *role : *tables().roles())
      if (role->name()->string_view() != workerRole)
        executors.push_back(
            {role->name()->str(), role->first_rank(), role->ranks(), 0});
}

Status Cluster::Impl::createSessions(const ClusterOptions &clusterOptions) {
  const SessionOptions &given = clusterOptions.session;
  std::vector<RoleInfo> roles = rolesOf(tables());
  auto variablesOf =
      [&](std::string_view name) -> std::shared_ptr<VariableMemory> {
    auto role =
        size_t(std::ranges::find(roles, name, &RoleInfo::name) - roles.begin());
    return role < clusterOptions.variables.size()
               ? clusterOptions.variables[role]
               : nullptr;
  };
  auto count = static_cast<unsigned>(executors.size());
  if (count == 1) {
    SessionOptions options = given;
    options.variables = variablesOf(workerRole);
    Expected<std::unique_ptr<Session>> session =
        Session::create(artifact, std::move(options));
    if (!session)
      return session.status();
    executors.front().workers = (*session)->workers();
    sessions.push_back(std::move(*session));
    return Status::success();
  }

  // Each executor gets the faults of its own ranks.
  std::vector<std::vector<std::string>> injections(count);
  for (const std::string &text : given.injections) {
    Expected<Injection> injection = Injection::parse(text);
    if (!injection)
      return injection.status();
    size_t index = executorOf(injection->replica);
    if (index == count)
      return invalidArgument(
          fmt::format("injection '{}': replica {} does not exist among {}",
                      text, injection->replica,
                      executors.back().firstRank + executors.back().ranks));
    injections[index].push_back(text);
  }

  std::vector<RankRange> ranks;
  for (const ExecutorInfo &executor : executors)
    ranks.push_back({executor.firstRank, executor.ranks});
  auto endpoints = LocalNetwork::create(std::move(ranks));
  if (!endpoints)
    return endpoints.status();
  network = endpoints->front();
  endpointOf = *endpoints;
  for (unsigned i = 0; i < count; ++i) {
    SessionOptions options = given;
    options.inCluster = true;
    options.role = executors[i].role;
    options.variables = variablesOf(executors[i].role);
    options.firstRank = executors[i].firstRank;
    options.rankCount = executors[i].ranks;
    options.network = (*endpoints)[i];
    options.workers = std::max(
        1u, share(given.workers ? given.workers : availableCpus(), count, i));
    options.injections = std::move(injections[i]);
    Expected<std::unique_ptr<Session>> session =
        Session::create(artifact, std::move(options));
    if (!session)
      return session.status();
    executors[i].workers = (*session)->workers();
    sessions.push_back(std::move(*session));
  }
  return Status::success();
}

void Cluster::Impl::describePrograms() {
  for (size_t executor = 0; executor < sessions.size(); ++executor)
    for (ProgramId id = 0; id < sessions[executor]->programs().size(); ++id) {
      // The workers come first, and what a program takes and gives is theirs.
      const ProgramInfo &info = sessions[executor]->programs()[id];
      auto known = std::find_if(programs.begin(), programs.end(),
                                [&](const ProgramInfo &program) {
                                  return program.name == info.name;
                                });
      auto index = size_t(known - programs.begin());
      if (known == programs.end()) {
        programs.push_back(info);
        parts.emplace_back(sessions.size());
        batchCounts.emplace_back(tables().replicas());
      }
      parts[index][executor] = id;
    }
}

std::optional<ReplicaPart> Cluster::Impl::partOf(ProgramId program,
                                                 unsigned replica) const {
  if (program >= programs.size() || replica >= tables().replicas())
    return std::nullopt;
  size_t executor = executorOf(replica);
  if (!parts[program][executor])
    return std::nullopt;
  return ReplicaPart{sessions[executor].get(), *parts[program][executor],
                     replica - executors[executor].firstRank};
}

/// Each session looks at its own replicas only.
Status Cluster::Impl::checkBatches(ProgramId program) const {
  const std::vector<size_t> &counts = batchCounts[program];
  for (size_t replica = 0;
       programs[program].loadsBatches && replica < counts.size(); ++replica)
    if (counts[replica] != counts[0])
      return invalidArgument(fmt::format(
          "program '{}': replica {} has {} batches, but replica 0 has {}",
          programs[program].name, replica, counts[replica], counts[0]));
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Cluster
//===----------------------------------------------------------------------===//

Cluster::Cluster(std::unique_ptr<Impl> given) : impl(std::move(given)) {}

Cluster::~Cluster() {
  if (!impl->crew)
    return;
  if (!impl->traceFile.empty() && !impl->inCoordinator)
    (void)writeTrace();
  if (impl->crew->failed() && !impl->crew->leaveOrAbandon())
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
  return impl->sessions.front()->target();
}
std::span<const ExecutorInfo> Cluster::executors() const {
  return impl->executors;
}
std::span<const VariableInfo> Cluster::variables() const {
  return impl->variables;
}
std::span<const ScalarInfo> Cluster::scalars() const {
  return impl->sessions.front()->scalars();
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
  auto add = [&](size_t executor, std::string_view part, unsigned local) {
    VariablePlace place = impl->sessions[executor]->variablePlace(part, local);
    places.back().push_back(place.bytes);
    if (place.copy)
      copies.push_back(place.copy);
  };
  if (whole->info.perReplica) {
    size_t executor = impl->executorOf(replica);
    places.emplace_back();
    add(executor, name, replica - impl->executors[executor].firstRank);
    return VariableValue(std::move(places), std::move(copies));
  }
  for (const std::vector<WholeVariable::Part> &copy : whole->copies) {
    places.emplace_back();
    for (const WholeVariable::Part &part : copy)
      add(part.executor, part.name, 0);
  }
  return VariableValue(std::move(places), std::move(copies));
}

Status Cluster::setScalar(std::string_view name,
                          std::span<const std::byte> bytes) {
  for (const std::unique_ptr<Session> &session : impl->sessions)
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
              : noReplica(program, replica);
}

Status Cluster::bindBatches(ProgramId program, unsigned replica,
                            std::vector<const std::byte *> batches) {
  std::optional<ReplicaPart> part = impl->partOf(program, replica);
  if (!part)
    return noReplica(program, replica);
  auto count = static_cast<int64_t>(batches.size());
  LOCKSTEP_RETURN_IF_ERROR(part->session->bindBatches(
      part->program, part->replica, std::move(batches)));
  impl->batchCounts[program][replica] = static_cast<size_t>(count);
  // Servers, which get no batches, go through as many.
  for (const ScalarInfo &scalar : scalars())
    if (scalar.name == "num_batches")
      return setScalar(scalar.name, std::as_bytes(std::span(&count, 1)));
  return Status::success();
}

Status Cluster::run(ProgramId program) {
  if (program >= impl->programs.size())
    return invalidArgument(fmt::format("program {} does not exist among {}",
                                       program, impl->programs.size()));
  if (!impl->crew)
    return impl->sessions.front()->run(*impl->parts[program].front());
  LOCKSTEP_RETURN_IF_ERROR(impl->checkBatches(program));
  LOCKSTEP_RETURN_IF_ERROR(impl->crew->run(impl->parts[program]));
  ++impl->runs;
  return Status::success();
}

Status Cluster::run(std::string_view program) {
  Expected<ProgramId> id = findProgram(program);
  return id ? run(*id) : id.status();
}

std::span<const std::byte> Cluster::output(ProgramId program, unsigned output,
                                           unsigned replica) const {
  std::optional<ReplicaPart> part = impl->partOf(program, replica);
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
  std::optional<ReplicaPart> part = impl->partOf(program, replica);
  return part ? part->session->outputShape(part->program, output, part->replica)
              : std::vector<int64_t>();
}

unsigned Cluster::idleWorkers() const {
  unsigned count = 0;
  for (const std::unique_ptr<Session> &session : impl->sessions)
    count += session->idleWorkers();
  return count;
}

void Cluster::abort(const Status &reason) {
  if (impl->crew)
    impl->crew->fail(reason);
  else
    impl->sessions.front()->abort(reason);
}

bool Cluster::variablesRestored() const {
  return std::ranges::any_of(impl->sessions, [](const auto &session) {
    return session->variablesRestored();
  });
}

bool Cluster::poisoned() const {
  return std::ranges::any_of(
      impl->sessions, [](const auto &session) { return session->poisoned(); });
}

bool Cluster::variablesIntact() const {
  return std::ranges::all_of(impl->sessions, [](const auto &session) {
    return session->variablesIntact();
  });
}

const DeadlineReport &Cluster::deadlineReport() const {
  return impl->crew ? impl->crew->deadlineReport()
                    : impl->sessions.front()->deadlineReport();
}

void Cluster::leaveBehind() {
  if (impl->crew)
    impl->crew->abandon();
}

Cluster::ServerTraffic Cluster::serverTraffic() const {
  ServerTraffic traffic;
  for (uint32_t worker = 0; worker < impl->workerExecutors; ++worker)
    for (uint32_t server = impl->workerExecutors;
         server < impl->endpointOf.size(); ++server) {
      traffic.given += impl->endpointOf[worker]->bytesSentTo(server);
      traffic.got += impl->endpointOf[server]->bytesSentTo(worker);
    }
  return traffic;
}

uint64_t Cluster::completedRuns() const {
  return impl->crew ? impl->runs : impl->sessions.front()->completedRuns();
}

Status Cluster::writeTrace() const {
  if (!impl->crew)
    return impl->sessions.front()->writeTrace();
  if (impl->traceFile.empty())
    return invalidArgument(
        "no trace was asked for when the cluster was created");
  return writeTraces(impl->traceFile, traces());
}

std::vector<TraceProcess> Cluster::traces() const {
  std::vector<TraceProcess> processes;
  for (size_t i = 0; i < impl->sessions.size(); ++i) {
    const ExecutorInfo &executor = impl->executors[i];
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

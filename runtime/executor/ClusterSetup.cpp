//===- ClusterSetup.cpp - creates a cluster from an artifact --------------===//

#include "runtime/executor/ClusterImpl.h"

#include "runtime/executor/Executor.h"
#include "runtime/executor/Injection.h"
#include "runtime/transport/TransportFactory.h"

#include <fmt/format.h>

namespace lockstep::runtime {

/// The part `index` of `total` that is divided as evenly as possible, larger
/// parts first.
static unsigned share(unsigned total, unsigned parts, unsigned index) {
  return total / parts + (index < total % parts);
}

Status Cluster::Impl::initialize(std::shared_ptr<const Artifact> given,
                                 ClusterOptions options) {
  artifact = std::move(given);
  traceFile = options.session.traceFile;
  inCoordinator = options.inCoordinator;
  if (!options.session.transport)
    LOCKSTEP_RETURN_IF_ERROR(
        openTransport("").moveTo(options.session.transport));
  place = options.session.transport->place();
  workerExecutors = options.executors ? options.executors : place.count;
  if (place.count > tables().replicas())
    return invalidArgument(
        fmt::format("expected 1 to {} processes, at most one for each replica, "
                    "found {}",
                    tables().replicas(), place.count));
  if (workerExecutors < place.count || workerExecutors > tables().replicas())
    return invalidArgument(fmt::format(
        "expected {} to {} executors, {}at most one for each replica, found {}",
        place.count, tables().replicas(),
        place.count > 1 ? "at least one for each process and " : "",
        workerExecutors));
  describeExecutors();
  if (executors.size() > 1)
    LOCKSTEP_RETURN_IF_ERROR(connect(options.session));
  Status created = createSessions(options);
  if (!created.ok() && !isWhole())
    ownSpeaker().abort(created);
  LOCKSTEP_RETURN_IF_ERROR(created);
  places = wholeVariables(*artifact, executors);
  for (const WholeVariable &place : places)
    variables.push_back(place.info);
  describePrograms();
  return executors.size() > 1 ? createLocalSessions(options.session)
                              : Status::success();
}

/// Connects the executors, of which some may be in other processes.
Status Cluster::Impl::connect(const SessionOptions &options) {
  std::vector<RankRange> ranks;
  std::vector<uint32_t> processes;
  for (const ExecutorInfo &executor : executors) {
    ranks.push_back({executor.firstRank, executor.ranks});
    processes.push_back(executor.process);
  }
  LOCKSTEP_RETURN_IF_ERROR(
      options.transport->connect(std::move(ranks), std::move(processes))
          .moveTo(endpointOf));
  auto isHere = [](const auto &endpoint) { return endpoint != nullptr; };
  if (endpointOf.size() != executors.size() ||
      std::ranges::none_of(endpointOf, isHere))
    return invalidArgument(fmt::format(
        "expected transport '{}' to connect {} executors, at least one of them "
        "in this process, found {} with {} here",
        options.transport->name(), executors.size(), endpointOf.size(),
        std::ranges::count_if(endpointOf, isHere)));
  for (size_t i = 0; i < executors.size(); ++i)
    executors[i].isHere = isHere(endpointOf[i]);
  return Status::success();
}

Status Cluster::Impl::createLocalSessions(const SessionOptions &options) {
  std::vector<LocalSessions::Member> members;
  LocalSessions::Options localOptions{options.deadline,
                                      options.clock ? options.clock
                                                    : &Clock::system(),
                                      options.onDeadline,
                                      options.onLongWait,
                                      0,
                                      false};
  for (size_t i = 0; i < sessions.size(); ++i) {
    if (!sessions[i]) {
      localOptions.hasOthers = true;
      continue;
    }
    members.push_back({sessions[i].get(), endpointOf[i].get()});
    localOptions.workers += sessions[i]->workers() * options.clusters;
  }
  localSessions = std::make_unique<LocalSessions>(std::move(members),
                                                  std::move(localOptions));
  return localSessions->status();
}

void Cluster::Impl::describeExecutors() {
  unsigned rank = 0;
  for (unsigned i = 0; i < workerExecutors; ++i) {
    unsigned ranks = share(tables().replicas(), workerExecutors, i);
    executors.push_back({std::string(workerRole), rank, ranks});
    rank += ranks;
  }
  if (tables().roles())
    for (const artifact::Role *role : *tables().roles())
      if (role->name()->string_view() != workerRole)
        executors.push_back(
            {role->name()->str(), role->first_rank(), role->ranks()});
  // Each process has workers, and some of the servers.
  auto divide = [&](size_t first, size_t end) {
    size_t next = first;
    for (unsigned process = 0; process < place.count; ++process)
      for (unsigned n = share(unsigned(end - first), place.count, process);
           n > 0; --n)
        executors[next++].process = process;
  };
  divide(0, workerExecutors);
  divide(workerExecutors, executors.size());
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
    present.push_back(session->get());
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

  auto here =
      unsigned(std::ranges::count(executors, true, &ExecutorInfo::isHere));
  unsigned threads = given.workers
                         ? given.workers
                         : std::max(1u, availableCpus() / place.sharingCpus);
  for (unsigned i = 0; i < count; ++i) {
    if (!executors[i].isHere) {
      sessions.push_back(nullptr);
      continue;
    }
    SessionOptions options = given;
    options.inCluster = true;
    options.role = executors[i].role;
    options.variables = variablesOf(executors[i].role);
    options.firstRank = executors[i].firstRank;
    options.rankCount = executors[i].ranks;
    options.network = endpointOf[i];
    // The clusters of a coordinator share the memory of variables, and with it
    // the device.
    options.deviceIndex = unsigned(
        std::ranges::count_if(executors, [&](const ExecutorInfo &executor) {
          return executor.process < place.index &&
                 place.hostOf(executor.process) == place.hostOf(place.index);
        }));
    if (!clusterOptions.inCoordinator)
      options.deviceIndex += unsigned(present.size());
    options.workers =
        std::max(1u, share(threads, here, unsigned(present.size())));
    // All executors record their runs, or none.
    options.recordRuns = given.recordRuns && given.injections.empty();
    options.injections = std::move(injections[i]);
    Expected<std::unique_ptr<Session>> session =
        Session::create(artifact, std::move(options));
    if (!session)
      return session.status();
    executors[i].workers = (*session)->workers();
    present.push_back(session->get());
    sessions.push_back(std::move(*session));
  }
  return Status::success();
}

void Cluster::Impl::describePrograms() {
  for (size_t executor = 0; executor < sessions.size(); ++executor)
    for (ProgramId id = 0;
         sessions[executor] && id < sessions[executor]->programs().size();
         ++id) {
      // The workers come first: the inputs and outputs of a program are theirs.
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

} // namespace lockstep::runtime

//===- CoordinatorLanes.cpp - the clusters of a coordinator's workers -----===//

#include "runtime/executor/CoordinatorImpl.h"
#include "runtime/executor/Executor.h"
#include "runtime/schema/RoleInfo.h"
#include "runtime/support/JsonText.h"
#include "runtime/support/RunningTime.h"
#include "runtime/transport/TransportFactory.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lockstep::runtime {

Status Coordinator::Impl::initialize(std::shared_ptr<const Artifact> given,
                                     CoordinatorOptions givenOptions) {
  artifact = std::move(given);
  options = std::move(givenOptions);
  constexpr unsigned mostWorkers = 1024;
  if (options.workers == 0 || options.workers > mostWorkers)
    return invalidArgument(fmt::format("expected 1 to {} workers, found {}",
                                       mostWorkers, options.workers));
  LOCKSTEP_RETURN_IF_ERROR(checkArtifact());
  if (options.session.checkRaces)
    return invalidArgument("expected no checkRaces: accesses of different "
                           "workers are not compared");
  Expected<std::shared_ptr<Device>> device = openDevice(options.session.device);
  if (!device)
    return device.status();
  memories.resize(rolesOf(artifact->tables()).size());
  for (uint32_t role = 1; role < memories.size(); ++role) {
    Expected<std::shared_ptr<VariableMemory>> memory =
        VariableMemory::create(*device, *artifact, role);
    if (!memory)
      return memory.status();
    memories[role] = std::move(*memory);
    memories[role]->copy().share();
  }
  lanes.resize(options.workers);
  for (unsigned worker = 0; worker < options.workers; ++worker) {
    Expected<std::unique_ptr<Cluster>> created = createLane(worker);
    if (!created)
      return created.status();
    lanes[worker].cluster = std::move(*created);
  }
  for (const VariableInfo &info : cluster(0).variables())
    variables.emplace(info.name, *cluster(0).variable(info.name));
  return team.start(options.workers, std::chrono::nanoseconds(0),
                    [this](unsigned worker) { return work(worker); });
}

Status Coordinator::Impl::checkArtifact() const {
  const artifact::Artifact &tables = artifact->tables();
  constexpr std::string_view expected =
      "expected an artifact of the strategy 'parameter_server' for workers "
      "that take steps on their own";
  if (tables.replicas() != 1)
    return invalidArgument(fmt::format("{}, which has one replica, found {}",
                                       expected, tables.replicas()));
  if (rolesOf(tables).size() < 2)
    return invalidArgument(
        fmt::format("{}, found one without servers", expected));
  for (uint32_t i = 0; tables.variables() && i < tables.variables()->size();
       ++i) {
    const artifact::Variable *variable = tables.variables()->Get(i);
    if (variable->role() == 0 || variable->space() != artifact::Space::variable)
      return invalidArgument(fmt::format(
          "{}, whose variables are all on servers, found '{}' with the workers",
          expected, variable->name()->string_view()));
  }
  return Status::success();
}

/// Names the worker in a report: the ranks are the same for all workers.
static DeadlineReport nameWorker(unsigned worker,
                                 const DeadlineReport &report) {
  nlohmann::ordered_json json = {{"worker", worker}};
  json.update(nlohmann::ordered_json::parse(report.json));
  return {fmt::format("worker {}: {}", worker, report.text), jsonText(json, 2)};
}

Expected<std::unique_ptr<Cluster>>
Coordinator::Impl::createLane(unsigned worker) {
  ClusterOptions result;
  result.session = options.session;
  result.variables = memories;
  result.inCoordinator = true;
  unsigned threads =
      options.session.workers ? options.session.workers : availableCpus();
  result.session.workers = std::max(
      1u, threads / options.workers + (worker < threads % options.workers));
  result.session.clusters = options.workers;
  if (options.adapt)
    options.adapt(worker, result.session);
  result.session.onDeadline =
      [this, worker, onDeadline = std::move(result.session.onDeadline)](
          const DeadlineReport &report) {
        DeadlineReport named = nameWorker(worker, report);
        if (onDeadline)
          onDeadline(named);
        end(worker, {StatusCode::deadline, named.text}, /*isOverdue=*/true);
      };
  if (result.session.onLongWait)
    result.session.onLongWait =
        [worker, onLongWait = std::move(result.session.onLongWait)](
            const DeadlineReport &report) {
          onLongWait(nameWorker(worker, report));
        };
  if (!result.session.transport)
    LOCKSTEP_RETURN_IF_ERROR(
        openTransport("").moveTo(result.session.transport));
  // Workers share the variables of the servers as memory.
  if (uint32_t count = result.session.transport->place().count; count > 1)
    return unsupported(fmt::format("expected a transport that has all "
                                   "executors of a worker in this process, "
                                   "found '{}', which connects {} processes",
                                   result.session.transport->name(), count));
  return Cluster::create(artifact, std::move(result));
}

/// A cluster cannot run after an error. Only the worker itself replaces its
/// cluster; other threads access it with the mutex.
Status Coordinator::Impl::renewLane(unsigned worker) {
  Cluster::ServerTraffic traffic = cluster(worker).serverTraffic();
  uint64_t runs = cluster(worker).completedRuns();
  Expected<std::unique_ptr<Cluster>> created = createLane(worker);
  if (!created)
    return created.status();
  std::lock_guard<std::mutex> lock(mutex);
  // `abort` has not reached the new cluster.
  LOCKSTEP_RETURN_IF_ERROR(aborted);
  // Swap: the old cluster is destroyed after the mutex is released, which its
  // watchdog may need.
  lanes[worker].cluster.swap(*created);
  formerTraffic.toServers += traffic.toServers;
  formerTraffic.fromServers += traffic.fromServers;
  formerRuns += runs;
  return Status::success();
}

/// The memory of the server that has a piece of a variable. Error: the
/// deadline, since a kernel that hangs may hold it forever.
Expected<ServerAccess>
Coordinator::Impl::lockServerOf(std::string_view variable,
                                std::span<const std::byte> piece) const {
  auto memory = std::ranges::find_if(memories, [&](const auto &candidate) {
    return candidate && candidate->contains(piece.data());
  });
  std::unique_lock<std::timed_mutex> lock((*memory)->mutex(), std::defer_lock);
  RunningTime time(Clock::system(), options.session.deadline / 8);
  do
    time.spend([&](Clock::Duration slice) { return lock.try_lock_for(slice); });
  while (!lock.owns_lock() && time.now() < options.session.deadline);
  if (!lock.owns_lock())
    return Status(
        StatusCode::deadline,
        fmt::format(
            "variable '{}': expected its server to be between two updates "
            "within {} s, found it in one",
            variable,
            std::chrono::duration<double>(options.session.deadline).count()));
  return ServerAccess{std::move(lock), &(*memory)->copy()};
}

} // namespace lockstep::runtime

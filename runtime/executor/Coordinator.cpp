//===- Coordinator.cpp ----------------------------------------------------===//

#include "runtime/executor/Coordinator.h"

#include "runtime/artifact/Roles.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/ThreadTeam.h"
#include "runtime/executor/Trace.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lockstep::runtime {

struct ScheduledFunction::State {
  std::mutex mutex;
  std::condition_variable changed;
  /// What has come of it, once it is over.
  std::optional<Status> result;

  void end(Status status) {
    std::lock_guard<std::mutex> lock(mutex);
    result = std::move(status);
    changed.notify_all();
  }
};

Status ScheduledFunction::wait() {
  std::unique_lock<std::mutex> lock(state->mutex);
  state->changed.wait(lock, [&] { return state->result.has_value(); });
  return *state->result;
}

bool ScheduledFunction::isOver() const {
  std::lock_guard<std::mutex> lock(state->mutex);
  return state->result.has_value();
}

static Status cancellation(const std::string &reason) { return {StatusCode::poisoned, "cancelled: " + reason}; }

static Status noVariable(std::string_view name) { return invalidArgument(fmt::format("there is no variable '{}'", name)); }

class Coordinator::Impl {
public:
  using State = std::shared_ptr<ScheduledFunction::State>;
  struct Scheduled {
    Function function;
    State state;
  };
  struct Lane {
    std::unique_ptr<Cluster> cluster;
    /// Of the function that it executes; null if it executes none, or one that has been given up.
    State current;
    /// The thread has not come back from a function that has been given up.
    bool isAway = false;
  };

  Status initialize(std::shared_ptr<const Artifact> given, CoordinatorOptions options);
  Status checkArtifact() const;
  Expected<std::unique_ptr<Cluster>> createLane(unsigned worker);
  Status renewLane(unsigned worker);
  Expected<std::unique_lock<std::timed_mutex>> lockServerOf(std::string_view variable, std::span<const std::byte> piece) const;
  Cluster &cluster(unsigned worker) {
    std::lock_guard<std::mutex> lock(mutex);
    return *lanes[worker].cluster;
  }

  bool work(unsigned worker);
  void end(unsigned worker, const Status &status, bool isAway);
  void cancelQueue(const std::string &reason);
  void cancel(const std::string &reason);
  bool isIdle() const { return running == 0 && queue.empty(); }
  bool isAway(const Lane &lane) {
    std::lock_guard<std::mutex> lock(mutex);
    return lane.isAway;
  }
  bool isSomebodyAway();
  bool areAllAway() const {
    return std::ranges::all_of(lanes, [](const Lane &lane) { return lane.isAway; });
  }
  Status takeError(std::unique_lock<std::mutex> &lock);

  std::shared_ptr<const Artifact> artifact;
  CoordinatorOptions options;
  /// By role; null for the workers, which have none.
  std::vector<std::shared_ptr<VariableMemory>> memories;
  std::map<std::string, VariableValue, std::less<>> variables;
  /// Of lanes that have been replaced.
  Cluster::ServerTraffic formerTraffic;
  uint64_t formerRuns = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Scheduled> queue;
  /// Functions that are executed and have not been given up.
  unsigned running = 0;
  /// The first one since an error was returned.
  Status error;
  /// Why nothing begins any more; empty: it does.
  std::string cancelled;
  /// Why everything has been given up. From then on lanes stay as they are.
  Status aborted;
  std::vector<Lane> lanes;
  /// Destroyed before everything above, which its threads look at.
  ThreadTeam team;
};

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

Status Coordinator::Impl::initialize(std::shared_ptr<const Artifact> given, CoordinatorOptions givenOptions) {
  artifact = std::move(given);
  options = std::move(givenOptions);
  constexpr unsigned mostWorkers = 1024;
  if (options.workers == 0 || options.workers > mostWorkers)
    return invalidArgument(fmt::format("expected 1 to {} workers, found {}", mostWorkers, options.workers));
  LOCKSTEP_RETURN_IF_ERROR(checkArtifact());
  if (options.session.checkRaces)
    return invalidArgument("expected no checkRaces: accesses of different workers are not compared");
  memories.resize(rolesOf(artifact->tables()).size());
  for (uint32_t role = 1; role < memories.size(); ++role) {
    Expected<std::shared_ptr<VariableMemory>> memory = VariableMemory::create(*artifact, role);
    if (!memory)
      return memory.status();
    memories[role] = std::move(*memory);
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
  team.start(options.workers, std::chrono::nanoseconds(0), [this](unsigned worker) { return work(worker); });
  return Status::success();
}

Status Coordinator::Impl::checkArtifact() const {
  const artifact::Artifact &tables = artifact->tables();
  constexpr std::string_view expected = "expected an artifact of the strategy 'parameter_server' for workers that take steps on their own";
  if (tables.replicas() != 1)
    return invalidArgument(fmt::format("{}, which has one replica, found {}", expected, tables.replicas()));
  if (rolesOf(tables).size() < 2)
    return invalidArgument(fmt::format("{}, found one without servers", expected));
  for (uint32_t i = 0; tables.variables() && i < tables.variables()->size(); ++i) {
    const artifact::Variable *variable = tables.variables()->Get(i);
    if (variable->role() == 0 || variable->space() != artifact::Space::variable)
      return invalidArgument(fmt::format("{}, whose variables are all on servers, found '{}' with the workers", expected,
                                         variable->name()->string_view()));
  }
  return Status::success();
}

/// All workers have the same ranks.
static DeadlineReport nameWorker(unsigned worker, const DeadlineReport &report) {
  nlohmann::ordered_json json = {{"worker", worker}};
  json.update(nlohmann::ordered_json::parse(report.json));
  return {fmt::format("worker {}: {}", worker, report.text), json.dump(2)};
}

Expected<std::unique_ptr<Cluster>> Coordinator::Impl::createLane(unsigned worker) {
  ClusterOptions result;
  result.session = options.session;
  result.variables = memories;
  result.inCoordinator = true;
  unsigned threads = options.session.workers ? options.session.workers : availableCpus();
  result.session.workers = std::max(1u, threads / options.workers + (worker < threads % options.workers));
  result.session.clusters = options.workers;
  if (options.adapt)
    options.adapt(worker, result.session);
  result.session.onDeadline = [this, worker, tell = std::move(result.session.onDeadline)](const DeadlineReport &report) {
    DeadlineReport named = nameWorker(worker, report);
    if (tell)
      tell(named);
    end(worker, {StatusCode::deadline, named.text}, /*isAway=*/true);
  };
  if (result.session.onLongWait)
    result.session.onLongWait = [worker, tell = std::move(result.session.onLongWait)](const DeadlineReport &report) {
      tell(nameWorker(worker, report));
    };
  return Cluster::create(artifact, std::move(result));
}

/// Nothing runs any more in a cluster after an error. Only the worker itself replaces its cluster, so others need the mutex to look at it.
Status Coordinator::Impl::renewLane(unsigned worker) {
  Cluster::ServerTraffic traffic = cluster(worker).serverTraffic();
  uint64_t runs = cluster(worker).completedRuns();
  Expected<std::unique_ptr<Cluster>> created = createLane(worker);
  if (!created)
    return created.status();
  std::lock_guard<std::mutex> lock(mutex);
  // A new cluster would know nothing of it.
  LOCKSTEP_RETURN_IF_ERROR(aborted);
  // The old one is destroyed without the mutex, which its watchdog may need.
  lanes[worker].cluster.swap(*created);
  formerTraffic.given += traffic.given;
  formerTraffic.got += traffic.got;
  formerRuns += runs;
  return Status::success();
}

/// The memory of the server that has a piece of a variable. A kernel that hangs may have it for ever.
Expected<std::unique_lock<std::timed_mutex>> Coordinator::Impl::lockServerOf(std::string_view variable, std::span<const std::byte> piece) const {
  auto memory = std::ranges::find_if(memories, [&](const auto &candidate) { return candidate && candidate->contains(piece.data()); });
  std::unique_lock<std::timed_mutex> lock((*memory)->mutex(), options.session.deadline);
  if (!lock.owns_lock())
    return Status(StatusCode::deadline, fmt::format("variable '{}': expected its server to be between two updates within {} s, found it in one", variable,
                                                    std::chrono::duration<double>(options.session.deadline).count()));
  return lock;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Executes one function; false if there is none.
bool Coordinator::Impl::work(unsigned worker) {
  Scheduled scheduled;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (queue.empty())
      return false;
    scheduled = std::move(queue.front());
    queue.pop_front();
    lanes[worker].current = scheduled.state;
    ++running;
  }
  Status status = cluster(worker).poisoned() ? renewLane(worker) : Status::success();
  if (status.ok())
    status = scheduled.function(cluster(worker), worker);
  // Who waits for its end may destroy what it refers to.
  scheduled.function = nullptr;
  end(worker, status, /*isAway=*/false);
  return true;
}

/// Called by the worker when it comes back; and before that by its watchdog if the deadline has passed, since the worker may be inside of a
/// kernel that never ends, and nobody else could tell. The first call counts.
void Coordinator::Impl::end(unsigned worker, const Status &status, bool isAway) {
  std::lock_guard<std::mutex> lock(mutex);
  Lane &lane = lanes[worker];
  lane.isAway = isAway && lane.current;
  if (!lane.current)
    return;
  lane.current->end(status);
  lane.current = nullptr;
  --running;
  if (!status.ok() && error.ok()) {
    error = status;
    cancelQueue("an earlier function has failed: " + status.message());
  }
  changed.notify_all();
}

void Coordinator::Impl::cancelQueue(const std::string &reason) {
  for (Scheduled &scheduled : queue)
    scheduled.state->end(cancellation(reason));
  queue.clear();
}

void Coordinator::Impl::cancel(const std::string &reason) {
  if (cancelled.empty())
    cancelled = reason;
  cancelQueue(cancelled);
  changed.notify_all();
}

bool Coordinator::Impl::isSomebodyAway() {
  std::lock_guard<std::mutex> lock(mutex);
  return std::ranges::any_of(lanes, [](const Lane &lane) { return lane.isAway; });
}

/// Returns the first error, and forgets it, when no function is executed any more. Success: there is none, or somebody else has taken it
/// meanwhile.
Status Coordinator::Impl::takeError(std::unique_lock<std::mutex> &lock) {
  while (!error.ok()) {
    changed.wait(lock, [&] { return running == 0; });
    lock.unlock();
    // A worker whose deadline has passed comes back at once, unless it is inside of a kernel.
    (void)ThreadTeam::becomesEmpty([this] { return isSomebodyAway(); });
    lock.lock();
    // Who has taken the error may have scheduled more, and that may have failed.
    if (running == 0)
      return std::exchange(error, aborted);
  }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Coordinator
//===----------------------------------------------------------------------===//

Coordinator::Coordinator(std::unique_ptr<Impl> given) : impl(std::move(given)) {}

Expected<std::unique_ptr<Coordinator>> Coordinator::create(std::shared_ptr<const Artifact> artifact, CoordinatorOptions options) {
  auto impl = std::make_unique<Impl>();
  if (Status status = impl->initialize(std::move(artifact), std::move(options)); !status.ok())
    return status;
  return std::unique_ptr<Coordinator>(new Coordinator(std::move(impl)));
}

Coordinator::~Coordinator() {
  {
    std::unique_lock<std::mutex> lock(impl->mutex);
    impl->cancelQueue("the coordinator has been destroyed");
    impl->changed.wait(lock, [&] { return impl->running == 0; });
  }
  if (!ThreadTeam::becomesEmpty([this] { return impl->isSomebodyAway(); })) {
    impl->team.abandon();
    // Not while holding what watchdogs need: they are joined.
    for (Impl::Lane &lane : impl->lanes) {
      if (impl->isAway(lane))
        lane.cluster->leaveBehind();
      else
        lane.cluster.reset();
    }
    keepUntilExit(std::move(impl));
    return;
  }
  if (!impl->options.session.traceFile.empty())
    (void)writeTrace();
}

unsigned Coordinator::workers() const { return impl->options.workers; }
Cluster &Coordinator::lane(unsigned worker) { return impl->cluster(worker); }

Expected<ScheduledFunction> Coordinator::schedule(Function function) {
  auto state = std::make_shared<ScheduledFunction::State>();
  {
    std::unique_lock<std::mutex> lock(impl->mutex);
    LOCKSTEP_RETURN_IF_ERROR(impl->takeError(lock));
    if (!impl->cancelled.empty()) {
      state->end(cancellation(impl->cancelled));
      return ScheduledFunction(std::move(state));
    }
    if (impl->areAllAway())
      return Status(StatusCode::poisoned, fmt::format("all {} workers are inside of kernels that do not end", workers()));
    impl->queue.push_back({std::move(function), state});
  }
  impl->team.wake();
  return ScheduledFunction(std::move(state));
}

Status Coordinator::join() {
  std::unique_lock<std::mutex> lock(impl->mutex);
  do {
    impl->changed.wait(lock, [&] { return impl->isIdle(); });
    LOCKSTEP_RETURN_IF_ERROR(impl->takeError(lock));
  } while (!impl->isIdle());
  return Status::success();
}

Expected<bool> Coordinator::done() {
  std::unique_lock<std::mutex> lock(impl->mutex);
  if (!impl->isIdle())
    return false;
  LOCKSTEP_RETURN_IF_ERROR(impl->takeError(lock));
  return impl->isIdle();
}

void Coordinator::cancel(const std::string &reason) {
  std::lock_guard<std::mutex> lock(impl->mutex);
  impl->cancel(reason);
}

void Coordinator::abort(const Status &reason) {
  std::vector<Cluster *> clusters;
  {
    std::lock_guard<std::mutex> lock(impl->mutex);
    if (!impl->aborted.ok())
      return;
    impl->aborted = reason;
    if (impl->error.ok())
      impl->error = reason;
    impl->cancel(reason.message());
    for (const Impl::Lane &lane : impl->lanes)
      clusters.push_back(lane.cluster.get());
  }
  // Nobody replaces them any more.
  for (Cluster *cluster : clusters)
    cluster->abort(reason);
}

Expected<std::vector<std::byte>> Coordinator::read(std::string_view name) {
  auto found = impl->variables.find(name);
  if (found == impl->variables.end())
    return noVariable(name);
  std::vector<std::byte> bytes;
  for (std::span<std::byte> piece : found->second.pieces()) {
    Expected<std::unique_lock<std::timed_mutex>> lock = impl->lockServerOf(name, piece);
    if (!lock)
      return lock.status();
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  return bytes;
}

Status Coordinator::write(std::string_view name, std::span<const std::byte> bytes) {
  auto found = impl->variables.find(name);
  if (found == impl->variables.end())
    return noVariable(name);
  if (bytes.size() != found->second.size())
    return invalidArgument(fmt::format("variable '{}': expected {} bytes, found {}", name, found->second.size(), bytes.size()));
  for (std::span<std::byte> piece : found->second.pieces()) {
    Expected<std::unique_lock<std::timed_mutex>> lock = impl->lockServerOf(name, piece);
    if (!lock)
      return lock.status();
    std::copy_n(bytes.begin(), piece.size(), piece.begin());
    bytes = bytes.subspan(piece.size());
  }
  return Status::success();
}

Cluster::ServerTraffic Coordinator::serverTraffic() const {
  Cluster::ServerTraffic traffic = impl->formerTraffic;
  for (unsigned worker = 0; worker < workers(); ++worker) {
    Cluster::ServerTraffic own = impl->cluster(worker).serverTraffic();
    traffic.given += own.given;
    traffic.got += own.got;
  }
  return traffic;
}

uint64_t Coordinator::completedRuns() const {
  uint64_t runs = impl->formerRuns;
  for (unsigned worker = 0; worker < workers(); ++worker)
    runs += impl->cluster(worker).completedRuns();
  return runs;
}

Status Coordinator::writeTrace() const {
  if (impl->options.session.traceFile.empty())
    return invalidArgument("no trace was asked for when the coordinator was created");
  std::vector<TraceProcess> processes;
  for (unsigned worker = 0; worker < workers(); ++worker)
    for (TraceProcess &process : impl->cluster(worker).traces())
      processes.push_back({fmt::format("worker {}: {}", worker, process.name), process.trace});
  return writeTraces(impl->options.session.traceFile, processes);
}

} // namespace lockstep::runtime

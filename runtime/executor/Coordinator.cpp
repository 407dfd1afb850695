//===- Coordinator.cpp ----------------------------------------------------===//

#include "runtime/executor/CoordinatorImpl.h"
#include "runtime/executor/Trace.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace lockstep::runtime {

Status ScheduledFunction::wait() {
  std::unique_lock<std::mutex> lock(state->mutex);
  state->changed.wait(lock, [&] { return state->result.has_value(); });
  return *state->result;
}

bool ScheduledFunction::isOver() const {
  std::lock_guard<std::mutex> lock(state->mutex);
  return state->result.has_value();
}

static Status cancellation(const std::string &reason) {
  return {StatusCode::poisoned, "cancelled: " + reason};
}

static Status noVariable(std::string_view name) {
  return invalidArgument(fmt::format("there is no variable '{}'", name));
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
  Status status =
      cluster(worker).poisoned() ? renewLane(worker) : Status::success();
  if (status.ok())
    status = scheduled.function(cluster(worker), worker);
  // Destroy it before its end is announced: a waiting thread may then destroy
  // objects that it refers to.
  scheduled.function = nullptr;
  end(worker, status, /*isOverdue=*/false);
  return true;
}

/// Called by the worker when a function returns; or earlier by the worker's
/// watchdog at the deadline, since the worker may be inside of a kernel that
/// never ends. The first call counts.
void Coordinator::Impl::end(unsigned worker, const Status &status,
                            bool isOverdue) {
  std::lock_guard<std::mutex> lock(mutex);
  Lane &lane = lanes[worker];
  lane.isOverdue = isOverdue && lane.current;
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

bool Coordinator::Impl::isAnyOverdue() {
  std::lock_guard<std::mutex> lock(mutex);
  return std::ranges::any_of(lanes,
                             [](const Lane &lane) { return lane.isOverdue; });
}

/// Waits until no function is executing, then returns the first error and
/// clears it. Success: there is none, or another thread has taken it meanwhile.
Status Coordinator::Impl::takeError(std::unique_lock<std::mutex> &lock) {
  while (!error.ok()) {
    changed.wait(lock, [&] { return running == 0; });
    lock.unlock();
    // A worker whose deadline has expired returns at once, unless it is inside
    // of a kernel.
    (void)ThreadTeam::becomesEmpty([this] { return isAnyOverdue(); });
    lock.lock();
    // Another thread may have taken the error and scheduled a function that has
    // failed.
    if (running == 0)
      return std::exchange(error, aborted);
  }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Coordinator
//===----------------------------------------------------------------------===//

Coordinator::Coordinator(std::unique_ptr<Impl> given)
    : impl(std::move(given)) {}

Expected<std::unique_ptr<Coordinator>>
Coordinator::create(std::shared_ptr<const Artifact> artifact,
                    CoordinatorOptions options) {
  auto impl = std::make_unique<Impl>();
  if (Status status = impl->initialize(std::move(artifact), std::move(options));
      !status.ok())
    return status;
  return std::unique_ptr<Coordinator>(new Coordinator(std::move(impl)));
}

Coordinator::~Coordinator() {
  {
    std::unique_lock<std::mutex> lock(impl->mutex);
    impl->cancelQueue("the coordinator has been destroyed");
    impl->changed.wait(lock, [&] { return impl->running == 0; });
  }
  if (!ThreadTeam::becomesEmpty([this] { return impl->isAnyOverdue(); })) {
    impl->team.abandon();
    // Without the mutex, which watchdogs need before they can be joined.
    for (Impl::Lane &lane : impl->lanes) {
      if (impl->isOverdue(lane))
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
    if (impl->areAllOverdue())
      return Status(
          StatusCode::poisoned,
          fmt::format("all {} workers are inside of kernels that do not end",
                      workers()));
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
  // Lanes are not replaced after an abort.
  for (Cluster *cluster : clusters)
    cluster->abort(reason);
}

Expected<std::vector<std::byte>> Coordinator::read(std::string_view name) {
  auto found = impl->variables.find(name);
  if (found == impl->variables.end())
    return noVariable(name);
  std::vector<std::byte> bytes;
  for (std::span<std::byte> piece : found->second.layout()) {
    Expected<ServerAccess> server = impl->lockServerOf(name, piece);
    if (!server)
      return server.status();
    LOCKSTEP_RETURN_IF_ERROR(server->copy->fetch());
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  return bytes;
}

Status Coordinator::write(std::string_view name,
                          std::span<const std::byte> bytes) {
  auto found = impl->variables.find(name);
  if (found == impl->variables.end())
    return noVariable(name);
  if (bytes.size() != found->second.size())
    return invalidArgument(
        fmt::format("variable '{}': expected {} bytes, found {}", name,
                    found->second.size(), bytes.size()));
  for (std::span<std::byte> piece : found->second.layout()) {
    Expected<ServerAccess> server = impl->lockServerOf(name, piece);
    if (!server)
      return server.status();
    LOCKSTEP_RETURN_IF_ERROR(server->copy->edit());
    std::copy_n(bytes.begin(), piece.size(), piece.begin());
    LOCKSTEP_RETURN_IF_ERROR(server->copy->flush());
    bytes = bytes.subspan(piece.size());
  }
  return Status::success();
}

Cluster::ServerTraffic Coordinator::serverTraffic() const {
  Cluster::ServerTraffic traffic = impl->formerTraffic;
  for (unsigned worker = 0; worker < workers(); ++worker) {
    Cluster::ServerTraffic own = impl->cluster(worker).serverTraffic();
    traffic.toServers += own.toServers;
    traffic.fromServers += own.fromServers;
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
    return invalidArgument(
        "no trace was asked for when the coordinator was created");
  std::vector<TraceProcess> processes;
  for (unsigned worker = 0; worker < workers(); ++worker)
    for (TraceProcess &process : impl->cluster(worker).traces())
      processes.push_back(
          {fmt::format("worker {}: {}", worker, process.name), process.trace});
  return writeTraces(impl->options.session.traceFile, processes);
}

} // namespace lockstep::runtime

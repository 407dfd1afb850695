//===- Executor.cpp -------------------------------------------------------===//

#include "runtime/executor/Executor.h"

#include "runtime/executor/Report.h"
#include "runtime/support/Subnormals.h"

#include <algorithm>
#include <sched.h>

#include <fmt/format.h>

namespace lockstep::runtime {

static constexpr uint64_t gateOpen = uint64_t(1) << 32;
static constexpr uint64_t gateInside = gateOpen - 1;

unsigned availableCpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  return std::max(1, CPU_COUNT(&set));
}

Executor::Executor(Options given)
    : options(std::move(given)),
      events(options.network ? options.network->events() : ownEvents),
      tileScheduler(options.workers, events, failure.leavesKernelsBehind()),
      idleKeys(options.workers) {
  for (std::atomic<uint64_t> &key : idleKeys)
    key.store(busy, std::memory_order_relaxed);
  // A wake-up takes some 50 us, which delay the step, and spinning delays
  // nothing unless the awaited thread needs the same CPU. So a worker also
  // spins while another one executes uniform work of a few wake-ups' length.
  constexpr auto longestSpin = std::chrono::microseconds(200);
  uint32_t threads = options.workers * options.clusters;
  if (const auto &network = options.network)
    threads = threads * network->executorsSharingCpus() +
              network->threadsSharingCpus();
  if (threads <= availableCpus())
    spinTime = longestSpin;
  generations.assign(options.workers - 1, 0);
  started = team.start(options.workers - 1, spinTime, [this](unsigned index) {
    return enterAndWork(index + 1);
  });
  if (started.ok() && options.deadline > std::chrono::nanoseconds(0)) {
    watchdog = std::make_unique<Watchdog>(
        *options.clock, options.deadline, [this] { return sample(); },
        [this](uint64_t run) { return expire(run); },
        [this](uint64_t run, std::chrono::nanoseconds duration) {
          reportWait(run, duration);
        });
    started = watchdog->status();
  }
}

bool Executor::isInside() const {
  return (gate.load(std::memory_order_acquire) & gateInside) != 0;
}

bool Executor::leaveOrAbandon() {
  if (ThreadTeam::becomesEmpty([this] { return isInside(); }))
    return true;
  abandon();
  return false;
}

void Executor::abandon() {
  watchdog.reset();
  team.abandon();
}

void Executor::join() {
  watchdog.reset();
  team.join();
}

//===----------------------------------------------------------------------===//
// Entering and leaving a run
//===----------------------------------------------------------------------===//

// A worker enters by incrementing the counter of the gate while the gate is
// open. The run ends when the gate is closed and all workers have left: a
// worker that wakes up later finds the gate closed and is not waited for.

void Executor::openGate() {
  uint64_t generation = (gate.load(std::memory_order_relaxed) >> 33) + 1;
  gate.store(generation << 33 | gateOpen, std::memory_order_release);
  team.wake();
}

void Executor::closeGate() {
  gate.fetch_and(~gateOpen, std::memory_order_acq_rel);
  for (uint32_t spins = 0; isInside(); ++spins) {
    // A worker that is inside of a kernel after a deadline may never leave.
    if (failure.leavesKernelsBehind().load(std::memory_order_acquire))
      return;
    constexpr uint32_t spinsBeforeYield = 1000;
    if (spins < spinsBeforeYield)
      spinPause();
    else
      ::sched_yield();
  }
}

bool Executor::enterGate(uint64_t &lastGeneration) {
  uint64_t value = gate.load(std::memory_order_acquire);
  while ((value & gateOpen) && value >> 33 != lastGeneration)
    if (gate.compare_exchange_weak(value, value + 1,
                                   std::memory_order_acq_rel)) {
      lastGeneration = value >> 33;
      return true;
    }
  return false;
}

/// Takes part in the current run; false if there is none or the worker has
/// already taken part.
bool Executor::enterAndWork(uint32_t worker) {
  if (!enterGate(generations[worker - 1]))
    return false;
  work(worker);
  gate.fetch_sub(1, std::memory_order_release);
  return true;
}

Status Executor::prepare() {
  if (failed())
    return failure.poisoned();
  touched.store(false, std::memory_order_relaxed);
  return Status::success();
}

/// All replicas begin, unless the run has failed.
void Executor::rewind(ProgramState &state) {
  state.rewind();
  finishedReplicas.store(0, std::memory_order_relaxed);
  clearStop();
}

/// Workers may execute replicas, unless the run has failed.
void Executor::clearStop() {
  // `fail` sets `failure` before `stop`; here `stop` is cleared before
  // `failure` is read. So one of the two threads sees the other's write.
  stop.store(false, std::memory_order_seq_cst);
  if (failed())
    stop.store(true, std::memory_order_relaxed);
}

Status Executor::run(ProgramState &state) {
  rewind(state);
  runHasOtherWorkers = options.workers > 1 && (state.replicaCount > 1 ||
                                               state.program.hasShareableWork);
  if (options.network)
    if (Status status = state.transport->begin(); !status.ok())
      fail(status);
  current.store(&state, std::memory_order_release);
  uint64_t active = runs.begin();
  for (Observer *observer : observers)
    observer->runBegins(state);

  if (Status status = state.beginBatches(); !status.ok())
    fail(status);
  if (isRecordable(state)) {
    runInParts(state);
  } else {
    interpret(state);
    awaitDevice(state);
  }
  runs.end(active, events);
  ++allRuns;
  runsWithSubnormals += hasSubnormals.exchange(false);
  for (Observer *observer : observers)
    if (Status status = observer->runEnds(state); !status.ok() && !failed())
      fail(status);
  if (!failed())
    return Status::success();
  // Afterwards the caller may free its inputs.
  if (options.network)
    options.network->awaitReaders();
  return failure.status();
}

void Executor::interpret(ProgramState &state) {
  state.sendBatchesAhead();
  if (runHasOtherWorkers)
    openGate();
  work(0);
  // The run is still watched: another worker may be inside of a kernel that
  // never ends, also after an error other than a deadline.
  if (runHasOtherWorkers)
    closeGate();
}

Status Executor::await(const std::function<std::vector<uint32_t>()> &missing,
                       std::string_view what) {
  if (missing().empty())
    return Status::success();
  awaited = &missing;
  awaitedWhat = what;
  uint64_t active = runs.begin();
  for (;;) {
    uint32_t key = events.key();
    if (failed() || options.network->isAborted() || missing().empty())
      break;
    idleKeys[0].store(key, std::memory_order_release);
    events.sleep(key);
    idleKeys[0].store(busy, std::memory_order_release);
  }
  if (!failed() && options.network->isAborted())
    fail(options.network->abortReason());
  runs.end(active, events);
  awaited = nullptr;
  return failure.status();
}

//===----------------------------------------------------------------------===//
// Inside of a run
//===----------------------------------------------------------------------===//

void Executor::fail(const Status &status) {
  failure.set(status, [this](const Status &reason) {
    if (options.network)
      options.network->abort(reason);
  });
  stop.store(true, std::memory_order_seq_cst);
  events.notify();
}

/// Makes the calling worker the owner of a replica, if it is runnable.
bool Executor::claim(ProgramState &state, Replica &replica) {
  auto canProceed = [&] { return state.canProceed(replica); };
  if (replica.state.load(std::memory_order_relaxed) != Replica::ready ||
      !canProceed())
    return false;
  if (!runHasOtherWorkers) {
    replica.state.store(Replica::running, std::memory_order_relaxed);
    return true;
  }
  uint32_t expected = Replica::ready;
  if (!replica.state.compare_exchange_strong(expected, Replica::running,
                                             std::memory_order_acquire))
    return false;
  // Another worker may have executed the replica in between, so that it may now
  // be blocked on another instance.
  if (canProceed())
    return true;
  replica.state.store(Replica::ready, std::memory_order_release);
  return false;
}

/// Executes the runnable replicas of [first, last); true if there was one.
bool Executor::executeSome(const Execution &execution, uint32_t worker,
                           uint32_t first, uint32_t last) {
  bool any = false;
  for (uint32_t i = first; i < last && !stop.load(std::memory_order_relaxed);
       ++i) {
    Replica &replica = execution.state.replicas[i];
    if (!claim(execution.state, replica))
      continue;
    any = true;
    replica.worker.store(worker, std::memory_order_relaxed);
    Status error;
    switch (execute(execution, replica, worker, error)) {
    case Outcome::blocked:
    case Outcome::stopped:
      replica.state.store(Replica::ready, std::memory_order_release);
      break;
    case Outcome::paused:
      replica.state.store(Replica::paused, std::memory_order_release);
      break;
    case Outcome::left:
      replica.state.store(Replica::left, std::memory_order_release);
      break;
    case Outcome::failed:
      replica.state.store(Replica::ready, std::memory_order_release);
      fail(error);
      break;
    case Outcome::finished:
      replica.state.store(Replica::finished, std::memory_order_release);
      if (finishedReplicas.fetch_add(1, std::memory_order_acq_rel) + 1 ==
          execution.state.replicaCount) {
        stop.store(true, std::memory_order_release);
        if (execution.hasOtherWorkers)
          events.notify();
      }
      break;
    }
  }
  return any;
}

void Executor::work(uint32_t worker) {
  SubnormalScope subnormals(options.flushSubnormals);
  workWithin(worker);
  if (subnormals.hasFound())
    hasSubnormals.store(true, std::memory_order_relaxed);
}

bool Executor::inspectsResults() const {
  return std::ranges::any_of(
      observers, [](const Observer *of) { return of->inspectsResults(); });
}

void Executor::workWithin(uint32_t worker) {
  ProgramState &state = *current.load(std::memory_order_acquire);
  Execution execution{state,
                      tileScheduler,
                      events,
                      runHasOtherWorkers,
                      stop,
                      touched,
                      options.network,
                      options.injections,
                      options.onInjection,
                      observers,
                      inspectsResults(),
                      options.brokenRule};
  uint32_t workers = runHasOtherWorkers ? options.workers : 1;
  uint32_t count = state.replicaCount;
  uint32_t first = uint32_t(uint64_t(count) * worker / workers);
  uint32_t last = uint32_t(uint64_t(count) * (worker + 1) / workers);
  while (!stop.load(std::memory_order_acquire)) {
    uint32_t key = events.key();
    if (options.network && !pollNetwork(state, worker))
      return;
    if (executeSome(execution, worker, first, last))
      continue;
    bool stolen = false;
    for (uint32_t i = 0; i < count && !stolen; ++i) {
      uint32_t victim = (last + i) % count;
      stolen = (victim < first || victim >= last) &&
               executeSome(execution, worker, victim, victim + 1);
    }
    if (stolen || (workers > 1 && tileScheduler.help(worker)))
      continue;
    // The part is over: replicas are at decisions.
    if (state.isInParts() && state.queued->recorded->isHolding())
      return;
    idle(state, worker, key);
  }
}

/// Processes messages of other executors; false on an error or abort, which
/// ends the run.
bool Executor::pollNetwork(ProgramState &state, uint32_t worker) {
  Status status = options.network->isAborted() ? options.network->abortReason()
                                               : state.transport->poll(worker);
  if (status.ok())
    return true;
  fail(status);
  return false;
}

/// Waits for an event since `key` was taken.
void Executor::idle(ProgramState &state, uint32_t worker, uint32_t key) {
  auto begin = std::chrono::steady_clock::now();
  // With one worker and no other executor, only the watchdog can end this wait.
  auto limit = runHasOtherWorkers || options.network
                   ? spinTime
                   : std::chrono::nanoseconds(0);
  while (!events.changed(key) &&
         std::chrono::steady_clock::now() - begin < limit)
    for (int i = 0; i < 32; ++i)
      spinPause();
  idleKeys[worker].store(key, std::memory_order_release);
  if (!events.changed(key) && !stop.load(std::memory_order_acquire))
    sleepAndCheck(state, key);
  idleKeys[worker].store(busy, std::memory_order_release);
}

uint32_t Executor::idleWorkers() const {
  uint32_t count = 0, key = events.key();
  // Workers for which a run has no work do not enter it.
  bool onlyFirstTakesPart = runs.active() && !runHasOtherWorkers;
  for (uint32_t worker = 0; worker < idleKeys.size(); ++worker)
    count += (worker > 0 && onlyFirstTakesPart) ||
             idleKeys[worker].load(std::memory_order_acquire) == key;
  // One may have been woken since it was counted, and a device that is waited
  // for wakes one later.
  return events.changed(key) || isBlockedOnDevice()
             ? std::min(count, workers() - 1)
             : count;
}

//===----------------------------------------------------------------------===//
// Watching a run
//===----------------------------------------------------------------------===//

Watchdog::Sample Executor::sample() {
  Watchdog::Sample result;
  result.run = runs.active();
  if (result.run == 0)
    return result;
  result.progress = progress();
  result.waiting = waiting();
  // Heartbeats of other executors: while they make progress, messages may still
  // arrive.
  if (options.network)
    result.progress += options.network->exchangeProgress(result.progress);
  return result;
}

uint64_t Executor::progress() const {
  uint64_t count = tileScheduler.progress();
  const ProgramState *state = currentState();
  for (uint32_t i = 0; state && i < state->replicaCount; ++i)
    count += state->replicas[i].events.load(std::memory_order_relaxed) +
             state->replicas[i].tiles.load(std::memory_order_relaxed);
  if (state && state->queued)
    count += state->queued->queues->progress();
  return count;
}

uint64_t Executor::waiting() const {
  const ProgramState *state = currentState();
  uint64_t result = 0;
  for (uint32_t i = 0; state && i < state->replicaCount; ++i)
    if (uint64_t blocked =
            state->replicas[i].blocked.load(std::memory_order_relaxed);
        blocked != Replica::notBlocked && blocked != Replica::onDevice)
      // A hash of each blocked replica: an odd factor is injective, and a sum
      // of nonzero terms is rarely zero.
      result += (blocked + 1 + (uint64_t(i) << 48)) * 0x9e3779b97f4a7c15u;
  return result;
}

void Executor::reportWait(uint64_t run, std::chrono::nanoseconds duration) {
  if (!options.onLongWait)
    return;
  runs.inspect(run, [&] {
    if (const ProgramState *state = currentState(); state && !awaited)
      options.onLongWait(describeLongWait(state->program.name(),
                                          std::span(&state, 1), duration));
  });
}

bool Executor::expire(uint64_t run) {
  return runs.expire(run, events, [this](DeadlineReport &report) {
    const ProgramState *state = currentState();
    report = awaited ? describeAwaited(options.deadline)
                     : describeDeadline(state->program.name(),
                                        std::span(&state, 1), options.deadline);
    if (options.onDeadline)
      options.onDeadline(report);
    fail({StatusCode::deadline, report.text});
  });
}

std::optional<DeadlineReport>
Executor::findAwaited(std::chrono::nanoseconds deadline) {
  std::optional<DeadlineReport> report;
  if (uint64_t run = runs.active())
    runs.inspect(run, [&] {
      if (awaited)
        report = describeAwaited(deadline);
    });
  return report;
}

DeadlineReport
Executor::describeAwaited(std::chrono::nanoseconds deadline) const {
  std::vector<RankRange> ranks;
  for (uint32_t executor : (*awaited)())
    ranks.push_back(options.network->executors()[executor]);
  return describeSilence(awaitedWhat, ranks, deadline);
}

} // namespace lockstep::runtime

//===- Executor.cpp -------------------------------------------------------===//

#include "runtime/executor/Executor.h"

#include "runtime/executor/Report.h"

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
    : options(std::move(given)), tileScheduler(options.workers, events),
      idleKeys(options.workers) {
  for (std::atomic<uint64_t> &key : idleKeys)
    key.store(busy, std::memory_order_relaxed);
  // Spinning costs less than a wake-up, unless the thread that is waited for needs this very CPU.
  constexpr auto wakeUpCost = std::chrono::microseconds(60);
  if (options.workers <= availableCpus())
    spinTime = wakeUpCost;
  for (uint32_t worker = 1; worker < options.workers; ++worker)
    threads.emplace_back([this, worker] { workerMain(worker); });
  watchdog = std::make_unique<Watchdog>(
      *options.clock, options.deadline, [this] { return sample(); },
      [this](uint64_t run) { return expire(run); });
}

Executor::~Executor() {
  watchdog.reset();
  quit.store(true, std::memory_order_release);
  starts.notify();
  for (std::thread &thread : threads)
    thread.join();
}

bool Executor::isInside() const {
  return (gate.load(std::memory_order_acquire) & gateInside) != 0;
}

bool Executor::leaveOrAbandon() {
  // Between two commands a worker notices at once that it has to stop.
  constexpr auto moment = std::chrono::milliseconds(200);
  auto begin = std::chrono::steady_clock::now();
  while (isInside() && std::chrono::steady_clock::now() - begin < moment)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!isInside())
    return true;
  watchdog.reset();
  quit.store(true, std::memory_order_release);
  starts.notify();
  for (std::thread &thread : threads)
    thread.detach();
  threads.clear();
  return false;
}

//===----------------------------------------------------------------------===//
// Entering and leaving a run
//===----------------------------------------------------------------------===//

// A worker counts itself in while the gate is open. The run ends when the gate is closed and
// everybody has left: a worker that wakes up too late finds it closed, and nobody waits for it.

void Executor::openGate() {
  uint64_t generation = (gate.load(std::memory_order_relaxed) >> 33) + 1;
  gate.store(generation << 33 | gateOpen, std::memory_order_release);
  starts.notify();
}

void Executor::closeGate() {
  gate.fetch_and(~gateOpen, std::memory_order_acq_rel);
  for (uint32_t spins = 0; isInside(); ++spins) {
    // A worker that is inside of a kernel after a deadline may never leave.
    if (hasFailed.load(std::memory_order_acquire) &&
        failure.code() == StatusCode::deadline)
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
    if (gate.compare_exchange_weak(value, value + 1, std::memory_order_acq_rel)) {
      lastGeneration = value >> 33;
      return true;
    }
  return false;
}

void Executor::workerMain(uint32_t worker) {
  uint64_t lastGeneration = 0;
  while (!quit.load(std::memory_order_acquire)) {
    uint32_t key = starts.key();
    if (enterGate(lastGeneration)) {
      work(worker);
      gate.fetch_sub(1, std::memory_order_release);
      continue;
    }
    auto begin = std::chrono::steady_clock::now();
    while (!starts.changed(key) && std::chrono::steady_clock::now() - begin < spinTime)
      for (int i = 0; i < 32; ++i)
        spinPause();
    if (!starts.changed(key) && !quit.load(std::memory_order_acquire))
      starts.sleep(key);
  }
}

Status Executor::run(ProgramState &state) {
  if (failed())
    return {StatusCode::poisoned, "the session was poisoned by an earlier error: " +
                                      failure.message()};
  state.rewind();
  finishedReplicas.store(0, std::memory_order_relaxed);
  touched.store(false, std::memory_order_relaxed);
  stop.store(false, std::memory_order_relaxed);
  runHasOtherWorkers =
      options.workers > 1 && (state.replicaCount > 1 || state.program.hasShareableWork);
  current.store(&state, std::memory_order_release);
  uint64_t active = phase.load(std::memory_order_relaxed) + 1;
  phase.store(active, std::memory_order_release);
  for (Observer *observer : observers)
    observer->runBegins(state);

  if (runHasOtherWorkers)
    openGate();
  work(0);
  if (!phase.compare_exchange_strong(active, active + 1, std::memory_order_acq_rel)) {
    // The watchdog was faster and is writing its report.
    while (!failed()) {
      uint32_t key = events.key();
      if (!failed())
        events.sleep(key);
    }
  }
  if (runHasOtherWorkers)
    closeGate();
  for (Observer *observer : observers)
    observer->runEnds(state);
  if (!failed())
    return Status::success();
  std::lock_guard<std::mutex> lock(failureMutex);
  return failure;
}

//===----------------------------------------------------------------------===//
// Inside of a run
//===----------------------------------------------------------------------===//

void Executor::fail(Status status) {
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    if (failure.ok())
      failure = std::move(status);
  }
  hasFailed.store(true, std::memory_order_release);
  stop.store(true, std::memory_order_release);
  events.notify();
}

/// Makes the calling worker the owner of a replica that can go on.
bool Executor::claim(ProgramState &state, Replica &replica) {
  auto canGoOn = [&] {
    uint64_t blocked = replica.blocked.load(std::memory_order_relaxed);
    return blocked == Replica::notBlocked ||
           state.rendezvous->isComplete(uint32_t(blocked >> 32), uint32_t(blocked));
  };
  if (replica.state.load(std::memory_order_relaxed) != Replica::ready || !canGoOn())
    return false;
  if (!runHasOtherWorkers) {
    replica.state.store(Replica::running, std::memory_order_relaxed);
    return true;
  }
  uint32_t expected = Replica::ready;
  if (!replica.state.compare_exchange_strong(expected, Replica::running,
                                             std::memory_order_acquire))
    return false;
  // Another worker may have had it in between, and it may be blocked on something else now.
  if (canGoOn())
    return true;
  replica.state.store(Replica::ready, std::memory_order_release);
  return false;
}

/// Executes the replicas of [first, last) that can go on; true if there was one.
bool Executor::executeSome(const Execution &execution, uint32_t worker, uint32_t first,
                           uint32_t last) {
  bool any = false;
  for (uint32_t i = first; i < last && !stop.load(std::memory_order_relaxed); ++i) {
    Replica &replica = execution.state.replicas[i];
    if (!claim(execution.state, replica))
      continue;
    any = true;
    Status error;
    switch (execute(execution, replica, worker, error)) {
    case Outcome::blocked:
    case Outcome::stopped:
      replica.state.store(Replica::ready, std::memory_order_release);
      break;
    case Outcome::paused:
      replica.state.store(Replica::paused, std::memory_order_release);
      break;
    case Outcome::failed:
      replica.state.store(Replica::ready, std::memory_order_release);
      fail(std::move(error));
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
  ProgramState &state = *current.load(std::memory_order_acquire);
  Execution execution{state,
                      tileScheduler,
                      events,
                      runHasOtherWorkers,
                      stop,
                      touched,
                      options.injections,
                      options.onInjection,
                      observers,
                      options.brokenRule};
  uint32_t workers = runHasOtherWorkers ? options.workers : 1;
  uint32_t count = state.replicaCount;
  uint32_t first = uint32_t(uint64_t(count) * worker / workers);
  uint32_t last = uint32_t(uint64_t(count) * (worker + 1) / workers);
  while (!stop.load(std::memory_order_acquire)) {
    uint32_t key = events.key();
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
    idle(worker, key);
  }
}

/// Waits until something has changed since `key` was taken.
void Executor::idle(uint32_t worker, uint32_t key) {
  auto begin = std::chrono::steady_clock::now();
  // With one worker, only the watchdog can end this.
  auto limit = runHasOtherWorkers ? spinTime : std::chrono::nanoseconds(0);
  while (!events.changed(key) && std::chrono::steady_clock::now() - begin < limit)
    for (int i = 0; i < 32; ++i)
      spinPause();
  idleKeys[worker].store(key, std::memory_order_release);
  if (!events.changed(key) && !stop.load(std::memory_order_acquire))
    events.sleep(key);
  idleKeys[worker].store(busy, std::memory_order_release);
}

uint32_t Executor::idleWorkers() const {
  uint32_t count = 0, key = events.key();
  for (const std::atomic<uint64_t> &idleKey : idleKeys)
    count += idleKey.load(std::memory_order_acquire) == key;
  return count;
}

//===----------------------------------------------------------------------===//
// Watching a run
//===----------------------------------------------------------------------===//

Watchdog::Sample Executor::sample() {
  Watchdog::Sample result;
  uint64_t value = phase.load(std::memory_order_acquire);
  if (value % 2 == 0)
    return result;
  result.run = value;
  ProgramState *state = current.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < state->replicaCount; ++i)
    result.progress += state->replicas[i].events.load(std::memory_order_relaxed);
  result.progress += tileScheduler.progress();
  return result;
}

bool Executor::expire(uint64_t run) {
  if (!phase.compare_exchange_strong(run, expiredPhase, std::memory_order_acq_rel))
    return false;
  report = describeDeadline(*current.load(std::memory_order_acquire), options.deadline);
  if (options.onDeadline)
    options.onDeadline(report);
  fail({StatusCode::deadline, report.text});
  return true;
}

} // namespace lockstep::runtime

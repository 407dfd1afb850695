//===- Executor.h - workers that execute replicas ---------------*- C++ -*-===//
//
// W workers share R replicas. The thread that calls `run` is worker 0; the others spin for about a
// wake-up's cost and then sleep. A worker claims a replica that can go on, preferably one of its own
// block (its memory is in this core's caches), executes it until a wait cannot be satisfied, and
// claims the next. With nothing to claim it helps with tiles that others offer.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_EXECUTOR_H
#define LOCKSTEP_RUNTIME_EXECUTOR_EXECUTOR_H

#include "runtime/executor/Interpreter.h"
#include "runtime/executor/Watchdog.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::runtime {

/// CPUs that this process may use.
unsigned availableCpus();

class Executor {
public:
  struct Options {
    uint32_t workers = 1;
    std::chrono::nanoseconds deadline{};
    Clock *clock = nullptr;
    std::vector<Injection> injections;
    std::function<void(const std::string &)> onInjection;
    std::function<void(const DeadlineReport &)> onDeadline;
    BrokenRule brokenRule = BrokenRule::none;
  };

  explicit Executor(Options options);
  /// Joins the workers, unless they have been abandoned.
  ~Executor();

  /// After a failure: waits a moment for the workers to leave the run. False if one of them does
  /// not, because it is inside of a kernel; then all threads are detached, and this object must be
  /// kept until the process exits.
  bool leaveOrAbandon();

  /// Told about every following run; not owned.
  void observe(Observer *observer) { observers.push_back(observer); }

  /// Executes a program once. After an error nothing runs any more.
  Status run(ProgramState &state);

  TileScheduler &tiles() { return tileScheduler; }
  uint32_t workers() const { return options.workers; }
  /// Workers that have found nothing to do since the last time anything changed.
  uint32_t idleWorkers() const;
  bool failed() const { return hasFailed.load(std::memory_order_acquire); }
  bool variablesTouched() const { return touched.load(std::memory_order_relaxed); }
  const DeadlineReport &deadlineReport() const { return report; }

private:
  void workerMain(uint32_t worker);
  void work(uint32_t worker);
  bool executeSome(const Execution &execution, uint32_t worker, uint32_t first, uint32_t last);
  bool claim(ProgramState &state, Replica &replica);
  void idle(uint32_t worker, uint32_t key);
  /// The first failure of a run wins.
  void fail(Status status);
  void openGate();
  void closeGate();
  bool enterGate(uint64_t &lastGeneration);
  bool isInside() const;

  Watchdog::Sample sample();
  bool expire(uint64_t phase);

  Options options;
  EventCount events;
  EventCount starts;
  TileScheduler tileScheduler;
  std::vector<Observer *> observers;

  /// generation << 33 | open << 32 | workers inside.
  alignas(64) std::atomic<uint64_t> gate{0};
  /// The run that is open; see `Execution`.
  std::atomic<ProgramState *> current{nullptr};
  bool runHasOtherWorkers = false;
  alignas(64) std::atomic<bool> stop{false};
  std::atomic<uint32_t> finishedReplicas{0};
  std::atomic<bool> touched{false};
  std::atomic<bool> quit{false};
  std::chrono::nanoseconds spinTime{};
  /// For each worker, the key of `events` at which it found nothing to do; `busy` if it has work.
  static constexpr uint64_t busy = ~uint64_t(0);
  std::vector<std::atomic<uint64_t>> idleKeys;

  /// Even: idle; odd: run number phase / 2 is active; `expired`: the watchdog has given it up.
  static constexpr uint64_t expiredPhase = ~uint64_t(0);
  alignas(64) std::atomic<uint64_t> phase{0};

  std::mutex failureMutex;
  Status failure;
  std::atomic<bool> hasFailed{false};
  DeadlineReport report;

  std::vector<std::thread> threads;
  std::unique_ptr<Watchdog> watchdog;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_EXECUTOR_H

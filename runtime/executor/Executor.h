//===- Executor.h - workers that execute replicas ---------------*- C++ -*-===//
//
// W workers share R replicas. The thread that calls `run` is worker 0; the
// others spin for about a wake-up's cost and then sleep. A worker claims a
// replica that can go on, preferably one of its own block (its memory is in
// this core's caches), executes it until a wait cannot be satisfied, and claims
// the next. With nothing to claim it helps with tiles that others offer.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_EXECUTOR_H
#define LOCKSTEP_RUNTIME_EXECUTOR_EXECUTOR_H

#include "runtime/executor/Failure.h"
#include "runtime/executor/Interpreter.h"
#include "runtime/executor/ThreadTeam.h"
#include "runtime/executor/Watchdog.h"
#include "runtime/transport/Network.h"

#include <atomic>
#include <memory>
#include <vector>

namespace lockstep::runtime {

/// CPUs that this process may use.
unsigned availableCpus();

class Executor {
public:
  struct Options {
    uint32_t workers = 1;
    /// 0: somebody else watches, by `progress` and `fail`.
    std::chrono::nanoseconds deadline{};
    Clock *clock = nullptr;
    /// See `SessionOptions::clusters`.
    uint32_t clusters = 1;
    /// Not owned; null if there are no other executors. A failure here ends the
    /// runs of all of them.
    Network *network = nullptr;
    std::vector<Injection> injections;
    std::function<void(const std::string &)> onInjection;
    std::function<void(const DeadlineReport &)> onDeadline, onLongWait;
    BrokenRule brokenRule = BrokenRule::none;
  };

  explicit Executor(Options options);
  /// Error: its threads could not be started, and it can only be destroyed.
  const Status &status() const { return started; }
  /// Joins the workers, unless they have been abandoned.
  ~Executor() = default;

  /// After a failure: waits a moment for the workers to leave the run. False if
  /// one of them does not, because it is inside of a kernel; then all threads
  /// are detached, and this object must be kept until the process exits.
  bool leaveOrAbandon();
  /// Lets go of the threads; this object must be kept until the process exits.
  void abandon();
  /// Joins the threads, as the destructor does: nobody looks at programs any
  /// more.
  void join();

  /// Told about every following run; not owned.
  void observe(Observer *observer) { observers.push_back(observer); }

  /// Before every run. Error: nothing runs any more after one that has failed.
  Status prepare();
  /// Executes a program once.
  Status run(ProgramState &state);

  /// Between runs: waits until the network has what is needed of other
  /// executors, under the deadline. `missing` names those of whom nothing has
  /// come, for the report; it is called on other threads too. Errors: they have
  /// given up, the deadline.
  Status await(const std::function<std::vector<uint32_t>()> &missing,
               std::string_view what);

  /// What the last run has written to variables is no longer that of a run at
  /// hand.
  void commit() { touched.store(false, std::memory_order_relaxed); }
  /// Ends the run at hand, if there is one, and lets nothing run any more. The
  /// first failure wins. From any thread.
  void fail(const Status &status);
  /// Changes with every command and tile that is completed. From any thread.
  uint64_t progress() const;
  /// See `Watchdog::Sample`. From any thread.
  uint64_t waiting() const;
  /// What runs, or has run last; null before the first run. From any thread.
  const ProgramState *currentState() const {
    return current.load(std::memory_order_acquire);
  }

  TileScheduler &tiles() { return tileScheduler; }
  /// What idle workers wait for.
  EventCount &workEvents() { return events; }
  uint32_t workers() const { return options.workers; }
  /// Workers that have found nothing to do since the last time anything
  /// changed. Not all of them while a replica waits for its device.
  uint32_t idleWorkers() const;
  bool failed() const { return failure.happened(); }
  /// Whether the run at hand, or the one that has failed, may have written a
  /// variable. After a failure, who has not begun to write does not do so any
  /// more.
  bool variablesTouched() const {
    return touched.load(std::memory_order_seq_cst);
  }
  const DeadlineReport &deadlineReport() const { return runs.deadlineReport(); }

private:
  /// Whether a replica waits for what its device executes.
  bool awaitsDevice() const;
  bool enterAndWork(uint32_t worker);
  void work(uint32_t worker);
  bool executeSome(const Execution &execution, uint32_t worker, uint32_t first,
                   uint32_t last);
  bool claim(ProgramState &state, Replica &replica);
  bool pollNetwork(ProgramState &state, uint32_t worker);
  void idle(uint32_t worker, uint32_t key);
  void settle(ProgramState &state);
  void openGate();
  void closeGate();
  bool enterGate(uint64_t &lastGeneration);
  bool isInside() const;

  DeadlineReport describeAwaited() const;
  Watchdog::Sample sample();
  bool expire(uint64_t run);
  void tellOfWait(uint64_t run, std::chrono::nanoseconds duration);

  Options options;
  EventCount ownEvents;
  /// Those of the network, if there is one: what arrives wakes idle workers.
  EventCount &events;
  Failure failure;
  TileScheduler tileScheduler;
  std::vector<Observer *> observers;

  /// generation << 33 | open << 32 | workers inside.
  alignas(64) std::atomic<uint64_t> gate{0};
  /// For each worker but the first, the generation that it was in last.
  std::vector<uint64_t> generations;
  /// The run that is open; see `Execution`.
  std::atomic<ProgramState *> current{nullptr};
  std::atomic<bool> runHasOtherWorkers{false};
  alignas(64) std::atomic<bool> stop{false};
  std::atomic<uint32_t> finishedReplicas{0};
  std::atomic<bool> touched{false};
  std::chrono::nanoseconds spinTime{};
  /// For each worker, the key of `events` at which it found nothing to do;
  /// `busy` if it has work.
  static constexpr uint64_t busy = ~uint64_t(0);
  std::vector<std::atomic<uint64_t>> idleKeys;

  /// What the watchdog looks at: executions of programs, and what is waited for
  /// between them.
  alignas(64) WatchedRuns runs;
  /// What is waited for outside of a run; null inside of one. Set before `runs`
  /// knows of it.
  const std::function<std::vector<uint32_t>()> *awaited = nullptr;
  std::string awaitedWhat;

  /// Destroyed before everything above, which their threads look at; the
  /// watchdog first.
  ThreadTeam team;
  Status started;
  std::unique_ptr<Watchdog> watchdog;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_EXECUTOR_H

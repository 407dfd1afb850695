//===- Executor.h - workers that execute replicas ---------------*- C++ -*-===//
//
// W workers share R replicas. The thread that calls `run` is worker 0; the
// others spin for about a wake-up's cost and then sleep. A worker claims a
// runnable replica, preferably of its own block (whose memory is in this core's
// caches), executes it until a wait cannot be satisfied, and claims the next.
// If no replica is runnable, it executes tiles that other workers offer.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_EXECUTOR_H
#define LOCKSTEP_RUNTIME_EXECUTOR_EXECUTOR_H

#include "runtime/executor/CommandInterpreter.h"
#include "runtime/executor/Failure.h"
#include "runtime/executor/ThreadTeam.h"
#include "runtime/executor/Watchdog.h"
#include "runtime/transport/Network.h"

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

namespace lockstep::runtime {

/// CPUs that this process may use.
unsigned availableCpus();

class Executor {
public:
  struct Options {
    uint32_t workers = 1;
    /// 0: no watchdog; the owner uses `progress` and `fail`.
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
    MemoryRule brokenRule = MemoryRule::none;
    /// Runs may be recorded: no observer and no fault acts within them.
    bool recordRuns = false;
    /// See `SessionOptions`.
    bool flushSubnormals = false;
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
  /// Detaches the threads; this object must be kept until the process exits.
  void abandon();
  /// Joins the threads, as the destructor does; then no thread accesses states
  /// of programs.
  void join();

  /// Registers an observer of all later runs; not owned.
  void observe(Observer *observer) { observers.push_back(observer); }

  /// Before every run. Error: an earlier run has failed.
  Status prepare();
  /// Executes a program once.
  Status run(ProgramState &state);

  /// Between runs: waits, with the deadline, until no executor is `missing`,
  /// that is, the required posts of all others have arrived. The report lists
  /// the missing ones; `missing` is also called on other threads. Errors: an
  /// abort of the network, the deadline.
  Status await(const std::function<std::vector<uint32_t>()> &missing,
               std::string_view what);

  /// The last run has succeeded: its writes to variables are final.
  void commit() { touched.store(false, std::memory_order_relaxed); }
  /// Ends the current run, if there is one, and prevents all later ones. The
  /// first failure is kept. From any thread.
  void fail(const Status &status);
  /// Changes with every command and tile that is completed. From any thread.
  uint64_t progress() const;
  /// See `Watchdog::Sample`. From any thread.
  uint64_t waiting() const;
  /// The program that runs, or has run last; null before the first run. From
  /// any thread.
  const ProgramState *currentState() const {
    return current.load(std::memory_order_acquire);
  }

  TileScheduler &tiles() { return tileScheduler; }
  /// The events that idle workers wait for.
  EventCount &workEvents() { return events; }
  uint32_t workers() const { return options.workers; }
  /// For a watchdog of several executors: if this one waits for posts of others
  /// (`await`), a report of those that have not posted for as long as
  /// `deadline`. From any thread.
  std::optional<DeadlineReport> findAwaited(std::chrono::nanoseconds deadline);
  /// How many runs have computed with subnormal floats on the host, and how
  /// many there were. Between runs.
  std::pair<uint64_t, uint64_t> subnormalRuns() const {
    return {runsWithSubnormals, allRuns};
  }
  /// Workers that have found nothing to do since the last time anything
  /// changed. Not all of them while a replica waits for its device.
  uint32_t idleWorkers() const;
  bool failed() const { return failure.happened(); }
  /// Whether the current run, or the one that has failed, may have written a
  /// variable. A replica that has not begun to write before a failure does not
  /// write after it.
  bool variablesTouched() const {
    return touched.load(std::memory_order_seq_cst);
  }
  const DeadlineReport &deadlineReport() const { return runs.deadlineReport(); }

private:
  /// Whether a replica waits for what its device executes.
  bool isBlockedOnDevice() const;
  bool enterAndWork(uint32_t worker);
  void work(uint32_t worker);
  void workWithin(uint32_t worker);
  bool executeSome(const Execution &execution, uint32_t worker, uint32_t first,
                   uint32_t last);
  bool claim(ProgramState &state, Replica &replica);
  bool pollNetwork(ProgramState &state, uint32_t worker);
  void idle(ProgramState &state, uint32_t worker, uint32_t key);
  void sleepAndCheck(ProgramState &state, uint32_t key);
  void endRecordings();
  void rewind(ProgramState &state);
  void clearStop();
  bool inspectsResults() const;
  void interpret(ProgramState &state);
  bool isRecordable(const ProgramState &state) const;
  void runInParts(ProgramState &state);
  void runPart(ProgramState &state, RecordedRun &recorded);
  void awaitDevice(ProgramState &state);
  void openGate();
  void closeGate();
  bool enterGate(uint64_t &lastGeneration);
  bool isInside() const;

  DeadlineReport describeAwaited(std::chrono::nanoseconds deadline) const;
  Watchdog::Sample sample();
  bool expire(uint64_t run);
  void reportWait(uint64_t run, std::chrono::nanoseconds duration);

  Options options;
  EventCount ownEvents;
  /// Those of the network, if there is one: messages wake idle workers.
  EventCount &events;
  Failure failure;
  TileScheduler tileScheduler;
  std::vector<Observer *> observers;
  /// Those that may have a graph.
  std::vector<RecordedRun *> recordings;

  /// generation << 33 | open << 32 | workers inside.
  alignas(64) std::atomic<uint64_t> gate{0};
  /// For each worker but the first, the last generation that it has entered.
  std::vector<uint64_t> generations;
  /// The run that is open; see `Execution`.
  std::atomic<ProgramState *> current{nullptr};
  std::atomic<bool> runHasOtherWorkers{false};
  alignas(64) std::atomic<bool> stop{false};
  /// A worker has found subnormal floats in the current run.
  std::atomic<bool> hasSubnormals{false};
  uint64_t runsWithSubnormals = 0, allRuns = 0;
  std::atomic<uint32_t> finishedReplicas{0};
  std::atomic<bool> touched{false};
  std::chrono::nanoseconds spinTime{};
  /// For each worker, the key of `events` at which it found nothing to do;
  /// `busy` if it has work.
  static constexpr uint64_t busy = ~uint64_t(0);
  std::vector<std::atomic<uint64_t>> idleKeys;

  /// The executions of programs and the waits between them that the watchdog
  /// observes.
  alignas(64) WatchedRuns runs;
  /// `missing` of the current `await`; null during a run. Set before
  /// `runs.begin()`.
  const std::function<std::vector<uint32_t>()> *awaited = nullptr;
  std::string awaitedWhat;

  /// Destroyed before the members above, which their threads access; the
  /// watchdog first.
  ThreadTeam team;
  Status started;
  std::unique_ptr<Watchdog> watchdog;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_EXECUTOR_H

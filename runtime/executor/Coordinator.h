//===- Coordinator.h - asynchronous workers ---------------------*- C++ -*-===//
//
// With the strategy `parameter_server`, each worker has one replica and takes
// steps independently. Variables live on the servers, which all workers share,
// and an update is applied when it arrives. A coordinator has the workers of
// one process: it schedules functions, and an idle worker executes each of
// them.
//
//   auto coordinator = Coordinator::create(*artifact, {.workers = 3});
//   for (int i = 0; i < 100; ++i)
//     (*coordinator)->schedule([&](Cluster &lane, unsigned worker) {
//       lane.bindInput(step, 0, batches[worker].next());
//       return lane.run(step);
//     });
//   Status status = (*coordinator)->join();
//
// Each worker has a lane, its own cluster: the worker, and for each server an
// executor that serves only this worker. All executors of one server share its
// memory, which they access one at a time, for all commands between two waits
// (see `VariableMemory`): no update is lost and no value is read while it is
// being written.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_COORDINATOR_H
#define LOCKSTEP_RUNTIME_EXECUTOR_COORDINATOR_H

#include "runtime/executor/Cluster.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

struct CoordinatorOptions {
  /// At least 1.
  unsigned workers = 1;
  /// Of all lanes together: `session.workers` threads are divided among them,
  /// and each has at least one for each of its executors.
  SessionOptions session = {};
  /// Changes the options of one worker's lane: its faults, its clock, its trace
  /// file. Also called when a lane is replaced.
  std::function<void(unsigned worker, SessionOptions &options)> adapt = {};
};

/// The future of a scheduled function. Outlives the coordinator.
class ScheduledFunction {
public:
  /// Waits until the function has ended, and returns its status; or the code
  /// `poisoned` and why it was never called: an earlier function has failed, or
  /// the coordinator was cancelled.
  Status wait();
  bool isOver() const;

private:
  friend class Coordinator;
  struct State;
  explicit ScheduledFunction(std::shared_ptr<State> state)
      : state(std::move(state)) {}
  std::shared_ptr<State> state;
};

/// `schedule`, `join`, `done`, `read` and `write` may be called from any thread
/// except inside of scheduled functions, also concurrently: then only one
/// caller gets an error, and the others continue.
class Coordinator {
public:
  /// Called on a thread of the worker, with its lane. It may bind data, set
  /// scalars, run programs and read outputs there. It must not access variables
  /// through the lane, since all workers share them, but may call `read` and
  /// `write`.
  using Function = std::function<Status(Cluster &lane, unsigned worker)>;

  /// Errors: those of `Cluster::create`, and an artifact of another strategy:
  /// one with several replicas, without servers, with variables that are not on
  /// a server, or with collectives on the memory of variables. `checkRaces`,
  /// since each lane would only see its own accesses.
  static Expected<std::unique_ptr<Coordinator>>
  create(std::shared_ptr<const Artifact> artifact, CoordinatorOptions options);

  /// Cancels functions that have not begun and waits for the others. A worker
  /// inside of a kernel that never ends is left behind, with all memory.
  ~Coordinator();
  Coordinator(const Coordinator &) = delete;
  Coordinator &operator=(const Coordinator &) = delete;

  unsigned workers() const;
  /// For looking up programs and variables; and for binding inputs and setting
  /// scalars while no function is scheduled. After a failed run the lane is
  /// replaced before the worker's next function, without its inputs and
  /// scalars.
  Cluster &lane(unsigned worker = 0);

  /// Schedules a function for any worker. When one fails, those that have not
  /// begun are cancelled. Once none is executing, the next call of `schedule`,
  /// `join` or `done` returns the first error and clears it; then `function` is
  /// not scheduled. Error: all workers have been lost to kernels that never
  /// end.
  Expected<ScheduledFunction> schedule(Function function);
  /// Waits until all functions have ended. Error: the first one.
  Status join();
  /// Whether all functions have ended, without waiting for any. Error, once
  /// they have: the first one.
  Expected<bool> done();

  /// Cancels all functions that have not begun and all that are scheduled
  /// later. This is no error. From any thread.
  void cancel(const std::string &reason);
  /// As `cancel`, and aborts running functions, as `Cluster::abort` does:
  /// `schedule`, `join` and `done` return `reason` from now on. From any
  /// thread.
  void abort(const Status &reason);

  /// A snapshot of a variable, consistent within each shard; functions may be
  /// executing. Errors: no such variable; with the code `deadline`, one of its
  /// servers has been in one update for longer than the session's deadline, by
  /// the system's clock.
  Expected<std::vector<std::byte>> read(std::string_view name);
  /// Sets a variable, shard by shard. Errors: those of `read`, or another size.
  /// Shards before the one that failed have been set.
  Status write(std::string_view name, std::span<const std::byte> bytes);

  /// As those of `Cluster`, summed over all workers. Only while no function is
  /// executing.
  Cluster::ServerTraffic serverTraffic() const;
  uint64_t completedRuns() const;
  /// Writes the trace so far to `SessionOptions::traceFile`: a process for each
  /// executor of each worker. Only while no function is executing. Also called
  /// by the destructor.
  Status writeTrace() const;

private:
  class Impl;
  explicit Coordinator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_COORDINATOR_H

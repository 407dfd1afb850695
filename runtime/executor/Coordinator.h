//===- Coordinator.h - workers that take steps on their own -----*- C++ -*-===//
//
// With the strategy `parameter_server` each worker has one replica and takes
// steps of its own. Variables live on the servers, which all workers share, and
// an update is applied when it arrives. A coordinator has the workers of one
// process: it schedules functions, and each is executed by the first worker
// that has nothing to do.
//
//   auto coordinator = Coordinator::create(*artifact, {.workers = 3});
//   for (int i = 0; i < 100; ++i)
//     (*coordinator)->schedule([&](Cluster &lane, unsigned worker) {
//       lane.bindInput(step, 0, batches[worker].next());
//       return lane.run(step);
//     });
//   Status status = (*coordinator)->join();
//
// A worker's lane is a cluster of its own: the worker, and for each server an
// executor that serves this worker alone. All executors of one server work on
// the same memory, one at a time between two waits (see `VariableMemory`): no
// update is lost, no value is read in half.
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
  /// file. Also called when a lane is made anew.
  std::function<void(unsigned worker, SessionOptions &options)> adapt = {};
};

/// What has become of a function that was scheduled. Outlives the coordinator.
class ScheduledFunction {
public:
  /// Waits until the function has ended, and returns what it returned; or, with
  /// the code `poisoned`, why it was never called: an earlier one has failed,
  /// or the coordinator does not begin any more.
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
/// but those of the functions themselves, by several at a time: then one of
/// them gets an error, and the others go on.
class Coordinator {
public:
  /// Called on a thread of the worker's, with its lane, in which it may bind
  /// data, set scalars, run programs and read outputs. Variables belong to all
  /// workers: it must not touch their memory in the lane, but may `read` and
  /// `write`.
  using Function = std::function<Status(Cluster &lane, unsigned worker)>;

  /// Errors: those of `Cluster::create`, and an artifact of another strategy:
  /// one with several replicas, without servers, with variables that are not on
  /// a server, or with collectives on the memory of variables. `checkRaces`,
  /// since each lane would only see its own accesses.
  static Expected<std::unique_ptr<Coordinator>>
  create(std::shared_ptr<const Artifact> artifact, CoordinatorOptions options);

  /// Cancels what has not begun, and waits for what has. A worker inside of a
  /// kernel that never ends is left behind, with all memory.
  ~Coordinator();
  Coordinator(const Coordinator &) = delete;
  Coordinator &operator=(const Coordinator &) = delete;

  unsigned workers() const;
  /// To find programs and describe variables; and to bind and set, as long as
  /// nothing is scheduled. A lane in which a run has failed is replaced by a
  /// new one before the worker's next function: what was bound and set in it is
  /// lost.
  Cluster &lane(unsigned worker = 0);

  /// Has a function executed by some worker. When one fails, those that have
  /// not begun are cancelled, and the next call of `schedule`, `join` or `done`
  /// returns the first error, which is forgotten with that, when none is
  /// executed any more; `function` is not scheduled then. Error: all workers
  /// have been lost to kernels that never end.
  Expected<ScheduledFunction> schedule(Function function);
  /// Waits until all functions have ended. Error: the first one.
  Status join();
  /// Whether all functions have ended, without waiting for any. Error, once
  /// they have: the first one.
  Expected<bool> done();

  /// Nothing begins any more: functions that have not begun, and those that are
  /// scheduled from now on, are cancelled. That is no error. From any thread.
  void cancel(const std::string &reason);
  /// The same, and gives up what has begun, as `Cluster::abort` does: `reason`
  /// is an error of `schedule`, `join` and `done` from now on. From any thread.
  void abort(const Status &reason);

  /// The bytes of a variable at some moment, each of its shards whole, while
  /// functions may be executed. Errors: no such variable; with the code
  /// `deadline`, one of its servers is in the same update for longer than the
  /// deadline of the session, on the system's clock.
  Expected<std::vector<std::byte>> read(std::string_view name);
  /// Sets a variable, shard by shard. Errors: those of `read`, or another size.
  /// Shards before the one whose server is stuck have been set.
  Status write(std::string_view name, std::span<const std::byte> bytes);

  /// As those of `Cluster`, of all workers together. When nothing is executed.
  Cluster::ServerTraffic serverTraffic() const;
  uint64_t completedRuns() const;
  /// Writes what has been traced so far to `SessionOptions::traceFile`: a
  /// process for each executor of each worker. When nothing is executed; the
  /// destructor does it too.
  Status writeTrace() const;

private:
  class Impl;
  explicit Coordinator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_COORDINATOR_H

//===- LocalSessions.h - runs sessions of a process together ----*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_LOCALSESSIONS_H
#define LOCKSTEP_RUNTIME_EXECUTOR_LOCALSESSIONS_H

#include "runtime/executor/Failure.h"
#include "runtime/executor/Session.h"
#include "runtime/executor/ThreadTeam.h"
#include "runtime/executor/Watchdog.h"
#include "runtime/support/Futex.h"
#include "runtime/transport/Network.h"

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

/// Executes programs on the sessions of a cluster that are in this process; a
/// session executes a contiguous range of the ranks of one role. The thread
/// that calls `run` drives the first session, and each other session has a
/// thread, kept between runs. A failure of one session ends the run of all. One
/// watchdog observes the progress of all sessions together, since one that
/// waits for another makes no progress itself; its report describes all of
/// them.
class LocalSessions {
public:
  struct Options {
    std::chrono::nanoseconds deadline{};
    Clock *clock = nullptr;
    std::function<void(const DeadlineReport &)> onDeadline, onLongWait;
    /// Worker threads of all sessions here, those of other clusters included.
    unsigned workers = 1;
    /// Executors of other processes take part in runs.
    bool hasOthers = false;
  };

  /// A session, and its endpoint of the network that connects it with all other
  /// executors (sessions of this and of other processes).
  struct Member {
    Session *session;
    Network *endpoint;
  };

  /// At least one member; sessions and endpoints must outlive this object.
  LocalSessions(std::vector<Member> members, Options options);
  /// Error: its threads could not be started, and it can only be destroyed.
  const Status &status() const { return started; }
  /// Joins the threads, unless they have been abandoned.
  ~LocalSessions() = default;
  LocalSessions(const LocalSessions &) = delete;

  /// To be called if a run cannot begin. If executors of other processes take
  /// part, which may have begun the run, aborts it as `fail` does, so that they
  /// do not wait for those here. Returns `status`.
  Status cannotBegin(const Status &status);
  /// Waits, outside of a program, until `missing` returns no executors, which
  /// have to post `what`. Fails after the deadline, and when another process
  /// aborts.
  Status await(const std::function<std::vector<uint32_t>()> &missing,
               std::string_view what);
  /// Executes a program: `parts[member]` is the member's part of it, if any.
  Status run(const std::vector<std::optional<ProgramId>> &parts);

  /// After a failure: waits a moment for the threads to leave the run. False if
  /// one does not, because it is inside of a kernel; then all are detached, and
  /// this object and its sessions must be kept until the process exits.
  bool leaveOrAbandon();
  /// Detaches the threads at once; this object and its sessions must be kept
  /// until the process exits.
  void abandon();

  /// Aborts the current run and all later ones in all sessions; the first
  /// failure is kept. From any thread.
  void fail(const Status &status);
  bool failed() const { return failure.happened(); }
  const DeadlineReport &deadlineReport() const { return runs.deadlineReport(); }

private:
  /// Whether `executor`, a position in the network, is one of those here.
  bool isMember(uint32_t executor) const;
  bool join(size_t member);
  void execute(size_t member);
  Watchdog::Sample sample() const;
  bool expire(uint64_t run);
  void reportWait(uint64_t run, std::chrono::nanoseconds duration);
  void writeReportAndAbort(DeadlineReport &report);
  DeadlineReport describe() const;
  /// The current program, and the states of the sessions that take part in it.
  std::pair<std::string_view, std::vector<const ProgramState *>>
  statesOfRun() const;

  std::vector<Member> members;
  Options options;

  EventCount ends;
  /// The number of the latest run, whose programs are `parts`. Each member has
  /// seen runs up to `seen`.
  std::atomic<uint64_t> generation{0};
  std::vector<uint64_t> seen;
  std::vector<std::optional<ProgramId>> parts;
  /// During `await`, its arguments.
  const std::function<std::vector<uint32_t>()> *awaited = nullptr;
  std::string_view awaitedWhat;
  /// Threads that have not yet returned from the run.
  std::atomic<size_t> threadsInRun{0};

  WatchedRuns runs;
  Failure failure;

  /// Destroyed before the members above, which their threads access; the
  /// watchdog first.
  ThreadTeam team;
  Status started;
  std::unique_ptr<Watchdog> watchdog;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_LOCALSESSIONS_H

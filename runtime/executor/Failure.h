//===- Failure.h - the first failure ----------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_FAILURE_H
#define LOCKSTEP_RUNTIME_EXECUTOR_FAILURE_H

#include "runtime/executor/Session.h"
#include "runtime/support/Futex.h"

#include <atomic>
#include <mutex>

namespace lockstep::runtime {

/// The first failure of an executor or of `LocalSessions`, after which it runs
/// no program. Thread-safe.
class Failure {
public:
  /// Only the first status is kept. `notify` is called with it before it
  /// becomes visible; and again with the first missed deadline or interruption,
  /// after which kernels are not waited for.
  template <typename Notify> void set(const Status &status, Notify notify) {
    bool leaves = status.code() == StatusCode::deadline ||
                  status.code() == StatusCode::interrupted;
    std::lock_guard<std::mutex> lock(mutex);
    bool isFirst = first.ok();
    if (isFirst)
      first = status;
    if (isFirst || (leaves && !leavesKernels.load(std::memory_order_relaxed)))
      notify(status);
    isSet.store(true, std::memory_order_seq_cst);
    if (leaves)
      leavesKernels.store(true, std::memory_order_seq_cst);
  }

  bool happened() const { return isSet.load(std::memory_order_seq_cst); }
  /// Whether threads inside of kernels must not be waited for, since the
  /// kernels may never end.
  const std::atomic<bool> &leavesKernelsBehind() const { return leavesKernels; }

  /// Success if there was none.
  Status status() const {
    std::lock_guard<std::mutex> lock(mutex);
    return first;
  }
  /// The error of a later attempt to run a program.
  Status poisoned() const {
    return {StatusCode::poisoned,
            "the session was poisoned by an earlier error: " +
                status().message()};
  }

private:
  mutable std::mutex mutex;
  Status first;
  std::atomic<bool> isSet{false}, leavesKernels{false};
};

/// Consecutive runs, each of which ends or is aborted by a watchdog.
class WatchedRuns {
public:
  /// Begins a run. Called by the thread that calls `end`.
  uint64_t begin() {
    uint64_t run = current.load(std::memory_order_relaxed) + 1;
    current.store(run, std::memory_order_release);
    return run;
  }

  /// Ends the run. If the watchdog has expired it, waits for its report;
  /// `events` is notified then.
  void end(uint64_t run, EventCount &events) {
    if (current.compare_exchange_strong(run, run + 1,
                                        std::memory_order_acq_rel)) {
      // Waits for the end of an `inspect`.
      std::lock_guard<std::mutex> lock(inspection);
      return;
    }
    while (!hasReport.load(std::memory_order_acquire)) {
      uint32_t key = events.key();
      if (!hasReport.load(std::memory_order_acquire))
        events.sleep(key);
    }
  }

  /// The number of the current run; 0: there is none.
  uint64_t active() const {
    uint64_t run = current.load(std::memory_order_acquire);
    return run % 2 ? run : 0;
  }

  /// Called by the watchdog: `writeReportAndAbort` writes a report of the run
  /// and aborts it. False if the run has ended.
  template <typename Function>
  bool expire(uint64_t run, EventCount &events, Function writeReportAndAbort) {
    if (!current.compare_exchange_strong(run, expired,
                                         std::memory_order_acq_rel))
      return false;
    writeReportAndAbort(report);
    hasReport.store(true, std::memory_order_release);
    events.notify();
    return true;
  }

  /// Called by the watchdog: calls `function`, during which the run does not
  /// end, unless it has ended before.
  template <typename Function> void inspect(uint64_t run, Function function) {
    std::lock_guard<std::mutex> lock(inspection);
    if (active() == run)
      function();
  }

  /// The report of the expired run, after its end.
  const DeadlineReport &deadlineReport() const { return report; }

private:
  /// Even: idle; odd: a run is active.
  static constexpr uint64_t expired = ~uint64_t(0);
  std::atomic<uint64_t> current{0};
  std::mutex inspection;
  DeadlineReport report;
  std::atomic<bool> hasReport{false};
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_FAILURE_H

//===- Failure.h - why nothing runs any more --------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_FAILURE_H
#define LOCKSTEP_RUNTIME_EXECUTOR_FAILURE_H

#include "runtime/executor/Session.h"
#include "runtime/support/Futex.h"

#include <atomic>
#include <mutex>

namespace lockstep::runtime {

/// The first failure of something that runs programs: it stays, and nothing
/// runs any more. Thread-safe.
class Failure {
public:
  /// Only the first status counts. `tell` is called with it before anybody can
  /// see it here; and once more if a later one, a missed deadline or an
  /// interruption, says that kernels are not waited for any more.
  template <typename Tell> void set(const Status &status, Tell tell) {
    bool leaves = status.code() == StatusCode::deadline ||
                  status.code() == StatusCode::interrupted;
    std::lock_guard<std::mutex> lock(mutex);
    bool isFirst = first.ok();
    if (isFirst)
      first = status;
    if (isFirst || (leaves && !leavesKernels.load(std::memory_order_relaxed)))
      tell(status);
    isSet.store(true, std::memory_order_seq_cst);
    if (leaves)
      leavesKernels.store(true, std::memory_order_seq_cst);
  }

  bool happened() const { return isSet.load(std::memory_order_seq_cst); }
  /// Whether somebody may still be inside of kernels that never end, and must
  /// not be waited for.
  const std::atomic<bool> &leavesKernelsBehind() const { return leavesKernels; }

  /// Success if there was none.
  Status status() const {
    std::lock_guard<std::mutex> lock(mutex);
    return first;
  }
  /// What is said to who wants to run something nevertheless.
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

/// Runs, one after the other, each of which ends or is given up by a watchdog.
class WatchedRuns {
public:
  /// A run begins. By the thread that calls `end`.
  uint64_t begin() {
    uint64_t run = current.load(std::memory_order_relaxed) + 1;
    current.store(run, std::memory_order_release);
    return run;
  }

  /// The run ends; if the watchdog was faster, when it has said what it has to
  /// say. `events` is notified then.
  void end(uint64_t run, EventCount &events) {
    if (current.compare_exchange_strong(run, run + 1,
                                        std::memory_order_acq_rel)) {
      // Who looks at the run has seen enough.
      std::lock_guard<std::mutex> lock(looking);
      return;
    }
    while (!hasReport.load(std::memory_order_acquire)) {
      uint32_t key = events.key();
      if (!hasReport.load(std::memory_order_acquire))
        events.sleep(key);
    }
  }

  /// The number of the run at hand; 0: there is none.
  uint64_t active() const {
    uint64_t run = current.load(std::memory_order_acquire);
    return run % 2 ? run : 0;
  }

  /// By the watchdog: `giveUp` makes a report of the run, and ends it. False if
  /// the run has ended meanwhile.
  template <typename GiveUp>
  bool expire(uint64_t run, EventCount &events, GiveUp giveUp) {
    if (!current.compare_exchange_strong(run, expired,
                                         std::memory_order_acq_rel))
      return false;
    giveUp(report);
    hasReport.store(true, std::memory_order_release);
    events.notify();
    return true;
  }

  /// By the watchdog: `look` sees the run, which does not end meanwhile; unless
  /// it has ended before.
  template <typename Look> void inspect(uint64_t run, Look look) {
    std::lock_guard<std::mutex> lock(looking);
    if (active() == run)
      look();
  }

  /// Of the run that was given up. After its end.
  const DeadlineReport &deadlineReport() const { return report; }

private:
  /// Even: idle; odd: a run is active.
  static constexpr uint64_t expired = ~uint64_t(0);
  std::atomic<uint64_t> current{0};
  std::mutex looking;
  DeadlineReport report;
  std::atomic<bool> hasReport{false};
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_FAILURE_H

//===- RunningTime.h - time without suspensions -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_RUNNINGTIME_H
#define LOCKSTEP_RUNTIME_SUPPORT_RUNNINGTIME_H

#include "runtime/support/Clock.h"

#include <algorithm>

namespace lockstep::runtime {

/// Measures how long a thread has waited for others. Time during which the
/// whole process was stopped (SIGSTOP, a debugger, a suspended machine) does
/// not count, since the others were stopped too: a wait counts at most twice
/// the length that was requested.
class RunningTime {
public:
  /// The length of a wait is `slice`, at least a millisecond.
  RunningTime(Clock &clock, Clock::Duration slice)
      : clock(clock),
        slice(std::max<Clock::Duration>(slice, std::chrono::milliseconds(1))) {}

  /// Executes `wait(slice)`, which waits for no longer than that.
  template <typename Wait> auto spend(Wait wait) {
    Clock::Duration begin = clock.now();
    auto result = wait(slice);
    passed += std::min(clock.now() - begin, 2 * slice);
    return result;
  }

  /// Waits until `condition` is notified, but no longer than a slice. `lock` is
  /// held on entry and on return.
  void wait(std::unique_lock<std::mutex> &lock,
            std::condition_variable &condition) {
    spend([&](Clock::Duration time) {
      clock.waitUntil(lock, condition, clock.now() + time);
      return true;
    });
  }

  /// The time of all waits so far.
  Clock::Duration now() const { return passed; }

private:
  Clock &clock;
  Clock::Duration slice, passed{};
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_RUNNINGTIME_H

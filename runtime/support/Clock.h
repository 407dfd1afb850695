//===- Clock.h - a monotonic clock that tests can replace -------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_CLOCK_H
#define LOCKSTEP_RUNTIME_SUPPORT_CLOCK_H

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace lockstep::runtime {

/// A monotonic clock. All deadlines use this object only, so a test with its
/// own clock controls when a deadline expires and need not sleep.
/// Implementations are called from several threads.
class Clock {
public:
  using Duration = std::chrono::nanoseconds;

  virtual ~Clock() = default;

  /// Time since an arbitrary fixed point; never decreases.
  virtual Duration now() = 0;

  /// Blocks on `condition` until it is notified or `time` is reached; may
  /// return early. `lock` is held on entry and on return.
  virtual void waitUntil(std::unique_lock<std::mutex> &lock,
                         std::condition_variable &condition, Duration time) = 0;

  /// The operating system's monotonic clock.
  static Clock &system();
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_CLOCK_H

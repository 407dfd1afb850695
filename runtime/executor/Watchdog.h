//===- Watchdog.h - detects runs without progress ---------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_WATCHDOG_H
#define LOCKSTEP_RUNTIME_EXECUTOR_WATCHDOG_H

#include "runtime/support/Clock.h"
#include "runtime/support/Status.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::runtime {

/// A thread that samples the progress of a run eight times per deadline, so it
/// detects a lack of progress after at most 9/8 of it. Its clock runs only
/// while the same run is active and no replica completes a command or a tile,
/// so a run that is slow but alive never expires. Time during which the process
/// was stopped does not count. If the same replicas wait for the deadline while
/// others make progress, possibly in an infinite loop, the watchdog reports the
/// wait and the run continues.
class Watchdog {
public:
  struct Sample {
    /// Identifies the active run; 0: none.
    uint64_t run = 0;
    /// Grows with every completed command and tile.
    uint64_t progress = 0;
    /// Changes whenever a replica begins or ends a wait; 0: no replica waits.
    uint64_t waiting = 0;
  };

  /// `expire(run)` is called, on the watchdog's thread, when a run has made no
  /// progress for `deadline`; it returns whether the run was aborted. After
  /// that the watchdog ends. `reportWait(run, duration)` is called when the
  /// same replicas wait for `deadline`, for twice as long, and so on, while
  /// others make progress.
  Watchdog(Clock &clock, Clock::Duration deadline,
           std::function<Sample()> sample, std::function<bool(uint64_t)> expire,
           std::function<void(uint64_t, Clock::Duration)> reportWait);
  ~Watchdog();

  /// Error: its thread could not be created, and it does nothing.
  const Status &status() const { return started; }

private:
  void main();

  Clock &clock;
  Clock::Duration deadline;
  std::function<Sample()> sample;
  std::function<bool(uint64_t)> expire;
  std::function<void(uint64_t, Clock::Duration)> reportWait;
  std::mutex mutex;
  std::condition_variable condition;
  bool quit = false;
  Status started;
  std::thread thread;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_WATCHDOG_H
